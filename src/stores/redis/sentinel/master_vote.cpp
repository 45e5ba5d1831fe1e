#include "stores/redis/sentinel/master_vote.hpp"

#include <algorithm>

namespace herdlock::redis {

using stores::server_address;

master_vote::master_vote(std::vector<server_address> sentinels)
    : sentinels_(std::move(sentinels)),
      told_(sentinels_.size()),
      answered_(sentinels_.size(), false) {}

void master_vote::names(std::size_t sentinel, server_address const& master, std::int64_t epoch) {
  answered_.at(sentinel) = true;
  told_.at(sentinel) = {master, epoch};
}

void master_vote::knows_none(std::size_t sentinel) { answered_.at(sentinel) = true; }

master_vote::weight master_vote::weight_of(server_address const& master) const {
  auto [votes, epoch] = weight{};
  for (auto const& one : told_) {
    if (one.master != master) continue;
    ++votes;
    epoch = std::max(epoch, one.epoch);
  }
  return {votes, epoch};
}

bool master_vote::decided() const {
  if (std::ranges::find(answered_, char{false}) == answered_.end()) return true;
  auto const first = winner();
  return first && 2 * weight_of(*first).first > sentinels_.size();
}

std::optional<server_address> master_vote::winner(
    std::optional<server_address> const& present) const {
  std::optional<server_address> best;
  for (auto const& one : told_) {
    if (one.master && (!best || weight_of(*one.master) > weight_of(*best))) best = one.master;
  }
  bool const as_good = best && present && weight_of(*present) == weight_of(*best);
  return as_good ? present : best;
}

std::vector<server_address> master_vote::who_named(server_address const& master) const {
  std::vector<server_address> found;
  for (std::size_t i = 0; i < sentinels_.size(); ++i) {
    if (told_[i].master == master) found.push_back(sentinels_[i]);
  }
  return found;
}

bool master_vote::contradicts(server_address const& sentinel, server_address const& master) const {
  for (std::size_t i = 0; i < sentinels_.size(); ++i) {
    if (sentinels_[i] == sentinel) return told_[i].master && told_[i].master != master;
  }
  return false;
}

std::string master_vote::dissent() const {
  auto const most = winner();
  std::string text;
  for (std::size_t i = 0; i < sentinels_.size(); ++i) {
    auto const& named = told_[i].master;
    if (!named || named == most) continue;
    text += (text.empty() ? "" : ", ") + sentinels_[i].text() + " names " + named->text();
  }
  return text;
}

std::string naming_text(std::vector<server_address> const& sentinels) {
  if (sentinels.empty()) return {};
  std::string text;
  for (auto const& one : sentinels) text += (text.empty() ? "" : ", ") + one.text();
  return sentinels.size() == 1 ? " (the sentinel at " + text + " names it)"
                               : " (the sentinels at " + text + " name it)";
}

}  // namespace herdlock::redis
