// A Lua script as the server is sent it.
#pragma once

#include <array>
#include <string_view>

namespace herdlock::redis {

/// Nothing of it is destroyed when the process ends: a store's thread may still use it then.
class script {
 public:
  script(std::string_view lua, std::string_view keys);

  std::string_view source;
  std::string_view key_count;
  /// SHA-1 in hex, EVALSHA's name for it.
  std::string_view sha() const noexcept { return {sha_.data(), sha_.size()}; }

 private:
  std::array<char, 40> sha_;
};

/// Sent by its hash, or with its source when the server said NOSCRIPT.
enum class script_form { by_hash, with_source };

}  // namespace herdlock::redis
