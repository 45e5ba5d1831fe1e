#include "algo/near_server.hpp"

#include <algorithm>

namespace herdlock::algo {

namespace {

using action = near_action::kind;

clock::time_point after(clock::time_point from, std::optional<milliseconds> span) {
  constexpr auto end_of_time = clock::time_point::max();
  bool const ends = span && *span < std::chrono::duration_cast<milliseconds>(end_of_time - from);
  return ends ? from + std::max(*span, milliseconds(0)) : end_of_time;
}

}  // namespace

void near_server::cover(near_coverage how, near_plan& out) {
  coverage_ = how;
  begin(out);
}

void near_server::begin(near_plan& out) {
  values_ = near_generation{++last_generation_};
  negatives_ = values_;
  if (settings_.servers == near_servers::several) {
    negatives_ = near_generation{++last_generation_};
  }
  say_trust(out);
}

void near_server::end(near_plan& out) const {
  if (coverage_ == near_coverage::off) return;
  out.push_back({.what = action::end, .generation = values_});
  if (negatives_ != values_) out.push_back({.what = action::end, .generation = negatives_});
}

void near_server::renew(near_plan& out) {
  if (coverage_ == near_coverage::off) return;
  end(out);
  begin(out);
}

void near_server::renew_negatives(near_plan& out) {
  if (coverage_ == near_coverage::off || negatives_ == values_) return;
  out.push_back({.what = action::end, .generation = negatives_});
  negatives_ = near_generation{++last_generation_};
  say_trust(out);
}

void near_server::say_trust(near_plan& out) const {
  auto const until =
      coverage_ == near_coverage::tracked ? trust_.until() : clock::time_point::max();
  out.push_back({.what = action::trust, .generation = values_, .until = until});
  if (negatives_ == values_) return;
  out.push_back({.what = action::trust, .generation = negatives_, .until = until});
}

std::optional<near_stamp> near_server::stamp(std::uint64_t of_key, clock::time_point now) const {
  if (coverage_ == near_coverage::off) return std::nullopt;
  return near_stamp{which_, values_, negatives_, of_key, now};
}

std::optional<near_entry> near_server::entry(near_stamp const& stamp, near_answer const& answer,
                                             clock::time_point now) const {
  if (answer.from != which_ || stamp.values != values_) return std::nullopt;
  bool const negative = answer.what == near_answer::found::negative;
  if (negative && stamp.negatives != negatives_) return std::nullopt;

  // Counted from when the read was sent: the server looked at it later.
  auto const ends = after(stamp.sent, answer.left);
  auto expires = ends;
  if (answer.what != near_answer::found::support) {
    expires = std::min(expires, after(stamp.sent, settings_.max_age));
  }
  if (coverage_ == near_coverage::aged) {
    expires = std::min(expires, after(stamp.sent, settings_.untracked_age));
  }
  if (negative && settings_.servers == near_servers::several) {
    expires = std::min(expires, after(stamp.sent, settings_.max_staleness));
  }
  if (expires <= now) return std::nullopt;
  return near_entry{negative ? stamp.negatives : stamp.values, expires, ends};
}

void near_server::push_handled(near_plan& out) {
  if (trust_.push_handled() && coverage_ == near_coverage::tracked) say_trust(out);
}

void near_server::pong(std::uint64_t number, std::uint64_t pushes_before, near_plan& out) {
  if (trust_.pong(number, pushes_before) && coverage_ == near_coverage::tracked) say_trust(out);
}

void near_server::ping_refused(std::uint64_t number, clock::time_point now, near_plan& out) {
  trust_.refused(number, now);
  fence_lapses(out);
}

void near_server::ping(clock::time_point now, near_plan& out) {
  last_ping_ = trust_.ping(now);
  out.push_back({.what = action::ping, .connection = which_, .number = last_ping_});
}

void near_server::regular_ping(clock::time_point now, near_plan& out) {
  if (coverage_ != near_coverage::tracked || now < trust_.next_ping()) return;
  if (trust_.enough_pings()) return trust_.skip_ping(now);
  ping(now, out);
}

bool near_server::fence(clock::time_point now, near_plan& out) {
  if (coverage_ != near_coverage::tracked || trust_.until() <= now || !trust_.may_ping()) {
    renew(out);
    return false;
  }
  // The slot of a missing key may have moved without a push, and the key be there now.
  renew_negatives(out);
  ping(now, out);
  fence_ping_ = last_ping_;
  return true;
}

void near_server::fence_lapses(near_plan& out) {
  renew(out);
  fence_ping_ = 0;
}

}  // namespace herdlock::algo
