// The Lua scripts of leases and their queue: one per step. The queue is drawn in
// docs/stores/redis.md#queue.
#pragma once

#include "stores/redis/scripts/script.hpp"

namespace herdlock::redis {

/// Who waits for a resource, in the order of arrival: a sorted set of members by ticket number.
/// A member is `SUBSCRIBER TTL OWNER`: where the grant is pushed to, for how many ms it is given at
/// first, and to whom. The subscriber of a waiter that hears no pushes is `-`; that of a cluster's
/// node begins with `@`, and listens at that node only. In front, with a score below zero, may be
/// the mark of the subscriber that had the last grant, `!SUBSCRIBER`: no waiter.
inline constexpr std::string_view queue_role = "queue";
/// The owner that released last, for as long as its lease would have lasted: a release that is
/// asked again after a lost reply gets its first answer.
inline constexpr std::string_view last_role = "last";
/// Followed by the subscriber's name: the channel that its process listens to.
inline constexpr std::string_view grant_channel_prefix = "herdlock:grants:";

struct lease_script_set {
  script acquire, enter, renew, release, leave, inspect, force_release;
  script many;  ///< acquires and releases; see script_bundle.hpp
  script list;  ///< see lease_list.hpp
  script pass_on;
  script trust;  ///< these two: see confirmation.hpp
  script held;
};

lease_script_set const& lease_scripts();

}  // namespace herdlock::redis
