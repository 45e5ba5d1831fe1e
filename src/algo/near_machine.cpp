#include "algo/near_machine.hpp"

namespace herdlock::algo {

namespace {
using action = near_action::kind;
}  // namespace

std::span<std::string_view const> near_tracking_command() noexcept {
  static constexpr std::string_view words[]{"CLIENT", "TRACKING", "ON", "OPTIN"};
  return words;
}

near_server* near_machine::find(near_connection which) {
  auto const at = servers_.find(which);
  return at == servers_.end() ? nullptr : &at->second;
}

near_server const* near_machine::find(near_connection which) const {
  auto const at = servers_.find(which);
  return at == servers_.end() ? nullptr : &at->second;
}

std::optional<near_connection> near_machine::connected(clock::time_point now) {
  if (servers_.size() >= most_near_connections) return std::nullopt;
  near_connection const fresh{++last_connection_};
  servers_.try_emplace(fresh, fresh, now, settings_, last_generation_);
  return fresh;
}

near_plan near_machine::tracking_on(near_connection which) {
  return cover(which, near_coverage::tracked);
}

near_plan near_machine::tracking_refused(near_connection which) {
  if (!settings_.untracked_age) return {};
  return cover(which, near_coverage::aged);
}

near_plan near_machine::cover(near_connection which, near_coverage how) {
  near_plan out;
  near_server* const one = find(which);
  if (!one || one->coverage() != near_coverage::off) return out;
  one->cover(how, out);
  wake_for(*one);
  return out;
}

near_plan near_machine::lost(near_connection which, clock::time_point now) {
  near_plan out;
  near_server* const one = find(which);
  if (!one) return out;
  one->end(out);
  servers_.erase(which);
  look_at_fence(now, out);
  return out;
}

near_coverage near_machine::coverage(near_connection which) const {
  near_server const* const one = find(which);
  return one ? one->coverage() : near_coverage::off;
}

// A plan drops what a push names before it trusts what a PONG behind that push proves.
near_plan near_machine::invalidated(near_connection which, std::span<std::string_view const> keys,
                                    clock::time_point now) {
  near_plan out;
  for (std::string_view const key : keys) {
    stamps_.changed(key);
    out.push_back({.what = action::drop_key, .key = key});
  }
  if (near_server* const one = find(which)) one->push_handled(out);
  look_at_fence(now, out);
  return out;
}

near_plan near_machine::flushed(near_connection which, clock::time_point now) {
  near_plan out;
  if (near_server* const one = find(which)) {
    one->renew(out);
    one->push_handled(out);
  }
  look_at_fence(now, out);
  return out;
}

near_plan near_machine::pong(near_connection which, std::uint64_t number,
                             std::uint64_t pushes_before, clock::time_point now) {
  near_plan out;
  if (near_server* const one = find(which)) one->pong(number, pushes_before, out);
  look_at_fence(now, out);
  return out;
}

near_plan near_machine::ping_refused(near_connection which, std::uint64_t number,
                                     clock::time_point now) {
  near_plan out;
  if (near_server* const one = find(which)) {
    one->ping_refused(number, now, out);
    wake_for(*one);
  }
  look_at_fence(now, out);
  return out;
}

std::optional<near_stamp> near_machine::read_sent(near_connection which, std::string_view key,
                                                  clock::time_point now) const {
  near_server const* const one = find(which);
  return one ? one->stamp(stamps_.of(key), now) : std::nullopt;
}

std::optional<near_entry> near_machine::fill(std::string_view key, near_stamp const& stamp,
                                             near_answer const& answer,
                                             clock::time_point now) const {
  near_server const* const one = find(stamp.connection);
  if (!one || !stamps_.admits(key, stamp.of_key)) return std::nullopt;
  return one->entry(stamp, answer, now);
}

near_plan near_machine::write_sent(std::string_view key) {
  stamps_.write_sent(key);
  return {{.what = action::drop_key, .key = key}};
}

near_plan near_machine::drop_all() {
  near_plan out;
  for (auto& [_, each] : servers_) each.renew(out);
  return out;
}

// Values on their way from the old owner are from before the move.
near_plan near_machine::slot_moved(std::uint16_t slot) {
  stamps_.all_changed();
  return {{.what = action::drop_slot, .slot = slot}};
}

near_plan near_machine::asked(near_connection which) {
  near_plan out;
  if (near_server* const one = find(which)) one->renew_negatives(out);
  return out;
}

near_plan near_machine::fence(clock::time_point now) {
  near_plan out;
  ++last_fence_;
  if (fence_under_way_ == 0) {
    begin_fence(now, out);
    look_at_fence(now, out);
  }
  return out;
}

void near_machine::begin_fence(clock::time_point now, near_plan& out) {
  fence_under_way_ = last_fence_;
  for (auto& [_, each] : servers_) {
    if (each.fence(now, out)) wake_for(each);
  }
}

void near_machine::look_at_fence(clock::time_point now, near_plan& out) {
  while (fence_under_way_ != 0) {
    for (auto const& [_, each] : servers_) {
      if (each.fence_waits()) return;
    }
    out.push_back({.what = action::fence_passed, .number = fence_under_way_});
    bool const others_wait = fence_under_way_ != last_fence_;
    fence_under_way_ = 0;
    if (others_wait) begin_fence(now, out);
  }
}

near_plan near_machine::timer(clock::time_point now) {
  near_plan out;
  due_ = clock::time_point::max();
  for (auto& [_, each] : servers_) {
    // Until a PONG comes nothing of it is served. That PONG may be of a PING before the fence.
    if (each.fence_waits() && each.trusted_until() <= now) each.fence_lapses(out);
    each.regular_ping(now, out);
    wake_for(each);
  }
  look_at_fence(now, out);
  return out;
}

void near_machine::wake_for(near_server const& one) {
  if (one.coverage() != near_coverage::tracked) return;
  wake_at(one.next_ping());
  if (one.fence_waits()) wake_at(one.trusted_until());
}

}  // namespace herdlock::algo
