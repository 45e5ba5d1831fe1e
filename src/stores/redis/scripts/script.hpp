// A Lua script as the server is sent it.
#pragma once

#include <string>
#include <string_view>

namespace herdlock::redis {

struct script {
  std::string_view source;
  std::string_view key_count;
  std::string sha;  ///< SHA-1 in hex, EVALSHA's name for it

  script(std::string_view lua, std::string_view keys);
};

/// Sent by its hash, or with its source when the server said NOSCRIPT.
enum class script_form { by_hash, with_source };

}  // namespace herdlock::redis
