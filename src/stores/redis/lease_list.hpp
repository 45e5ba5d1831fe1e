// The list of leases: the servers' keys are looked through, a bounded part at a time.
//
// Nothing is kept for it: no command of a lease writes an index. Each part is one SCAN of some
// hundred keys inside a script, which looks at the text of those that may be a lease, so that a
// server is busy with it for less than a millisecond, however many keys it has.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <herdlock/backend.hpp>
#include "stores/common/pending_operations.hpp"
#include "stores/redis/client/connection.hpp"

namespace herdlock::redis {

/// Keys that one part looks at.
inline constexpr std::int64_t keys_per_scan = 250;

/// How a lease is told from other keys.
enum class lease_mark {
  owner_token,  ///< its text is one: `label:32 hex digits`
  prefix,       ///< its name begins with the prefix, and it is a text
};

/// Where leases are, and how they are known.
struct lease_source {
  std::string store;  ///< for messages
  milliseconds timeout;
  lease_mark mark = lease_mark::owner_token;
  std::string prefix{};  ///< in front of each name
  /// Those that have all leases between them, always in the same order. None: it is not known yet,
  /// and is after an inspection.
  std::function<std::vector<std::shared_ptr<connection>>()> servers{};
  std::function<void(resource, handler<std::optional<lease_info>>)> inspect{};
  /// Whether each has to be inspected: there are keys of leases that have ended.
  bool inspected = false;
};

/// lease_store::list. Both from the executor.
class lease_list {
 public:
  lease_list(asio::any_io_executor const& executor, lease_source from);
  ~lease_list();
  lease_list(lease_list const&) = delete;
  lease_list& operator=(lease_list const&) = delete;

  void part(list_request request, handler<lease_page> done);

 private:
  std::shared_ptr<stores::pending_operations> pending_;
  std::shared_ptr<lease_source const> from_;
};

/// All leases of a herdlock store are at the servers of its router.
lease_source leases_at(std::shared_ptr<router> const& commands);
/// Those of a dialect, known by its prefix.
lease_source leases_of_dialect(std::shared_ptr<connection> const& commands);

}  // namespace herdlock::redis
