// The reply to HOTKEYS GET, as Redis and Valkey document it. They are two commands of one name:
//
//   Redis 8.6: a map, or since redis#14761 a list with one map: what was measured, and with
//     `by-cpu-time-us` and `by-net-bytes` keys and their numbers by turns; null without a session.
//     In RESP2 a map is a list of its names and values.
//   Valkey 9.2: a list with a map for each key: `key`, `db`, `qps`.
//
// No server with either of them was at hand: tested against these shapes, by a scripted peer only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stores/redis/client/reply.hpp"

namespace herdlock::redis {

struct hotkeys_answer {
  enum class measure {
    uses,   ///< a second
    share,  ///< of the server's time for all commands, or of its bytes: 0 to 1
  };
  struct row {
    std::string key;
    double value = 0;
    std::optional<std::int64_t> database = {};  ///< of Valkey
  };

  measure what = measure::uses;
  std::vector<row> rows;  ///< as the server has put them, the greatest first
};

/// Nothing for another shape.
std::optional<hotkeys_answer> read_hotkeys(reply const& answer);

}  // namespace herdlock::redis
