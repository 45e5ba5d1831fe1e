#include "stores/redis/sentinel/master_vote.hpp"

#include <algorithm>

namespace herdlock::redis {

using stores::server_address;

master_vote::master_vote(std::vector<server_address> sentinels, std::optional<master_switch> heard)
    : sentinels_(std::move(sentinels)),
      named_(sentinels_.size()),
      answered_(sentinels_.size(), false),
      heard_(std::move(heard)) {}

void master_vote::names(std::size_t sentinel, server_address const& master) {
  answered_.at(sentinel) = true;
  named_.at(sentinel) = master;
}

void master_vote::knows_none(std::size_t sentinel) { answered_.at(sentinel) = true; }

bool master_vote::is_outdated(server_address const& master) const {
  return heard_ && master == heard_->from;
}

std::size_t master_vote::votes_for(server_address const& master) const {
  if (is_outdated(master)) return 0;
  return static_cast<std::size_t>(std::ranges::count(named_, std::optional(master)));
}

// A server that was heard of as the new master needs one sentinel that still says so.
bool master_vote::decided() const {
  if (std::ranges::find(answered_, char{false}) == answered_.end()) return true;
  auto const first = winner();
  if (!first) return false;
  bool const heard_of = heard_ && *first == heard_->to;
  return heard_of || 2 * votes_for(*first) > sentinels_.size();
}

std::optional<server_address> master_vote::winner(
    std::optional<server_address> const& present) const {
  std::optional<server_address> best;
  for (auto const& one : named_) {
    if (!one) continue;
    if (!best || votes_for(*one) > votes_for(*best)) best = one;
  }
  bool const as_good = best && present && std::ranges::find(named_, present) != named_.end() &&
                       votes_for(*present) == votes_for(*best);
  return as_good ? present : best;
}

std::vector<server_address> master_vote::who_named(server_address const& master) const {
  std::vector<server_address> found;
  for (std::size_t i = 0; i < sentinels_.size(); ++i) {
    if (named_[i] && *named_[i] == master) found.push_back(sentinels_[i]);
  }
  return found;
}

std::string master_vote::dissent() const {
  auto const most = winner();
  std::string text;
  for (std::size_t i = 0; i < sentinels_.size(); ++i) {
    if (!named_[i] || named_[i] == most) continue;
    text += (text.empty() ? "" : ", ") + sentinels_[i].text() + " names " + named_[i]->text();
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
