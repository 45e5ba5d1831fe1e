#include "runtime/lease_roll.hpp"

#include <algorithm>

#include "algo/lease_machine.hpp"

namespace herdlock::runtime {
namespace {

constexpr auto quiet_for = std::chrono::minutes(1);
constexpr int most_repeats = 6;
constexpr std::size_t most_warned_of = 8;  // there is room left for what the store has to say

struct by_owner {
  bool operator()(owner_token const& a, enrolled const& b) const {
    return a.str() < b.owner().str();
  }
  bool operator()(enrolled const& a, owner_token const& b) const {
    return a.owner().str() < b.str();
  }
};

}  // namespace

void lease_roll::enter(enrolled& one) {
  all_.insert(one);
  by_name_.insert(one);
}

void lease_roll::leave(enrolled& one) {
  static_cast<roll_hook&>(one).unlink();
  static_cast<name_hook&>(one).unlink();
}

void lease_roll::close() {
  all_.clear();
  by_name_.clear();
}

void lease_roll::wait_begins(resource const& name, std::thread::id by) {
  if (!warnings_ || warned_of_.size() >= most_warned_of) return;
  auto const [first, last] = by_name_.equal_range(name, by_name{});
  if (std::none_of(first, last, [by](auto const& one) { return one.taken_by == by; })) return;
  if (std::find(warned_of_.begin(), warned_of_.end(), name.str()) != warned_of_.end()) return;
  warned_of_.push_back(name.str());
  warnings_->add(
      "a thread waits for " + in_quotes(name.str()) +
      " and holds it itself, by a lease of this same store: a lock is not reentrant, and "
      "the wait ends with its time, unless another thread gives the lease back");
}

void lease_roll::tell(lease_end const& what) {
  for (;;) {
    auto const found = all_.find(what.owner, by_owner{});
    if (found == all_.end()) return;
    auto& one = *found;
    leave(one);
    one.on_session_end(what);
  }
}

void lease_roll::renew_all(clock::time_point now, double random) {
  if (all_.empty()) return;
  if (now >= last_news_) plan_renewal(now, random);
  for (auto& one : all_) one.renew_by(last_news_);
}

// A connection that comes and goes does not take the back-off of the renewals away.
void lease_roll::plan_renewal(clock::time_point now, double random) {
  auto shortest = milliseconds::max();
  for (auto const& one : all_) shortest = std::min(shortest, one.ttl());
  auto const window = algo::new_connection_window(shortest);
  if (now - last_news_ > quiet_for) repeats_ = 0;
  auto const drawn = now + std::chrono::duration_cast<clock::duration>(window * random);
  last_news_ = repeats_ == 0 ? drawn : std::max(drawn, last_news_ + window * (1 << repeats_));
  repeats_ = std::min(repeats_ + 1, most_repeats);
}

void lease_roll::tell_closing() {
  while (!all_.empty()) {
    auto& one = *all_.begin();
    leave(one);
    one.on_closing();
  }
}

}  // namespace herdlock::runtime
