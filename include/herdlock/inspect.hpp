// The reports of a store on itself and on its leases.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <herdlock/types.hpp>

namespace herdlock {
inline namespace v0 {

/// `lost`: it is ours no more, and another may hold it.
enum class renew_reply { lost, renewed };
/// `lost`: it was ours no more.
enum class release_reply { lost, released };

/// The holder of a resource, and its queue.
struct lease_info {
  std::string holder;
  fencing_token fencing;
  milliseconds remaining;
  std::size_t waiting = 0;             ///< how many queue for it in the store
  std::vector<std::string> waiters{};  ///< their labels, first come first; limits::max_listed
  /// For how long the present holder has had it, by the store's clock, where the store knows.
  std::optional<milliseconds> held_for{};
  /// How long ago the lease was left as done (lease::leave), by the store's clock; `holder` is who
  /// did it.
  std::optional<milliseconds> done{};
};

/// The part of the list of resources that is asked for.
struct list_request {
  std::string cursor{};  ///< empty: from the beginning; else what the page before gave
  std::size_t limit = limits::max_listed;  ///< 1 to limits::max_page; others are taken for these
};

/// A part of the list. It may hold fewer names than the limit, or none, though it is not the last.
struct lease_page {
  std::vector<resource> names;
  std::string cursor;  ///< where the next part begins, for its maker; empty: this was the last
};

/// The promises of a lease store beyond the contract; docs/guarantees.md says what each means.
struct store_traits {
  /// Honours acquire_request::wait: first come, first served within one handle, and between them
  /// as docs/guarantees.md says.
  bool queues = false;
  bool pushes_fills = false;      ///< cache_store::watch is woken by the event itself
  bool across_processes = false;  ///< excludes other processes
  bool across_hosts = false;      ///< excludes other machines
  bool one_keyspace = false;      ///< locks and the entries of caches share their names
  bool fences = true;             ///< grants carry fencing tokens that rise; else they are 0
  /// How long a grant or a renewal proves a lease at most, whatever its ttl (a session may end
  /// sooner than that); the runtime asks for no more at a time. 0: for its whole ttl.
  milliseconds longest_validity{0};
  /// A lease can be left behind (lease::leave): it stands on no session that would have to go on.
  bool leaves_leases = false;
};

}  // namespace v0
}  // namespace herdlock
