// What a postgres: URL says.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <herdlock/error.hpp>
#include <herdlock/types.hpp>
#include <herdlock/url.hpp>

namespace herdlock::postgres {

enum class lock_mode { table, advisory, row };

struct settings {
  std::string display_name;  ///< without the password
  /// libpq's own parameters, host and port left out when there is more to resolve.
  std::vector<std::pair<std::string, std::string>> parameters;
  std::string host;
  std::string port;
  lock_mode mode = lock_mode::table;
  std::string table = "herdlock_leases";
  milliseconds timeout{5000};
  std::size_t max_pending = 65536;
  /// How long whoever succeeds a holder that did not release waits first; 0: not at all.
  milliseconds session_grace{0};
  std::size_t sessions = 16;  ///< connections of the modes whose locks belong to a session
};

result<settings> take_settings(store_url url);

}  // namespace herdlock::postgres
