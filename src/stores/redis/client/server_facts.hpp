// What INFO and TIME tell of a server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stores/redis/client/reply.hpp"

namespace herdlock::redis {

/// Empty or nothing: the server did not say.
struct server_facts {
  std::string version;
  std::string mode;         ///< standalone, cluster, sentinel
  std::string run_id;       ///< new with each start of the process
  std::string role;         ///< master, slave
  std::string replid;       ///< new with each promotion
  std::string policy;       ///< maxmemory-policy
  std::string append_only;  ///< "1" or "0"
  std::optional<std::int64_t> replicas;
  std::optional<std::int64_t> time_us;  ///< of the server's wall clock
};

/// Calls `take(name, value)` for each line `name:value` of an INFO.
template <class F>
void for_each_fact(std::string_view info, F take) {
  while (!info.empty()) {
    auto const end = info.find('\n');
    std::string_view line = info.substr(0, end);
    info.remove_prefix(end == std::string_view::npos ? info.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    auto const colon = line.find(':');
    if (colon != std::string_view::npos) take(line.substr(0, colon), line.substr(colon + 1));
  }
}

/// Takes an INFO into the facts; what is not there stays as it was.
void read_info(server_facts& into, std::string_view info);

/// TIME's two numbers in microseconds.
std::optional<std::int64_t> read_time(reply const& answer);

/// Nothing when the version is unknown or cannot be read.
bool is_older_than(server_facts const& server, int major, int minor);

}  // namespace herdlock::redis
