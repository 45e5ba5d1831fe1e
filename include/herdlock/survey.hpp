// The keys of a store that are used most, asked from outside: by a tool, not by the program that
// uses them (for that: cache::most_read, herdlock/hot_keys.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/error.hpp>
#include <herdlock/types.hpp>

namespace herdlock {
inline namespace v0 {

/// The source that is asked. `clients` decide what is hot; the others, which do not see what is
/// answered in the processes, can only propose.
enum class survey_source {
  clients,  ///< what the processes with caches report to each other
  monitor,  ///< MONITOR: every command, for a while. It slows the server down
  lfu,      ///< SCAN and OBJECT FREQ: the server's own counters, under an LFU policy
  server,   ///< HOTKEYS
};

struct survey_request {
  survey_source source = survey_source::clients;
  /// At most so many keys. 1 to 1000.
  std::size_t top = 20;
  /// Only keys that begin so; for `clients`, only caches with this prefix.
  std::string prefix = {};
  /// How long `monitor` listens, and `server` counts. 10 ms to 60 s.
  milliseconds lasts{5000};
  /// Commands a second that `monitor` takes before it gives up, and keys a second that `lfu` asks
  /// for. 1 to 10,000,000.
  std::uint64_t most_a_second = 200'000;
  /// Lets `monitor` begin at a server that is busy already.
  bool even_if_busy = false;
  /// Asks for the bytes of the values, too: one command for each key.
  bool with_sizes = false;
  /// Told now and then how far it is, from 0 to 1, on the calling thread. Its exceptions leave
  /// survey_store().
  std::function<void(double done)> on_progress = {};
};

/// One key. Members that a source does not know are empty.
struct surveyed_key {
  /// The key with the prefix of its cache. `monitor` cuts it at 256 bytes; `clients`, what is
  /// behind the prefix.
  std::string key;
  bool cut = false;  ///< it may be the beginning of a longer key, or of several
  double rate = 0;   ///< reads and writes a second, as near as the source knows
  double low = 0;    ///< at least; of `lfu`: as expected from its counter, as `high`
  double high = 0;   ///< at most; 0: nobody knows
  std::optional<double> reads = {};           ///< a second
  std::optional<double> writes = {};          ///< a second
  std::optional<double> share = {};           ///< of all uses that were counted, 0 to 1
  std::optional<std::uint64_t> bytes = {};    ///< of its value, at the server
  std::optional<std::size_t> processes = {};  ///< those that read it often
  std::optional<std::size_t> reporters = {};  ///< processes of its cache that have reported
  std::optional<std::size_t> kept_by = {};    ///< of them, those that keep it near
  std::optional<milliseconds> kept_for = {};  ///< how long, in the process that has kept it longest
};

struct survey {
  std::vector<surveyed_key> keys;  ///< by rate, the greatest first
  std::size_t processes = 0;       ///< most that reported of one cache; for `clients`
  /// The cost to the server, in a sentence: commands, bytes, time.
  std::string cost;
  /// The limits of the answer, each a sentence: a policy, a right that is missing, a gap.
  std::vector<std::string> notes;
};

/// Looks at the store behind the URL over connections of its own; changes nothing there. Blocks,
/// for request.lasts, or as long as the keys take at request.most_a_second, and a few of the
/// store's command timeouts. In a cluster all masters are asked.
///
/// sqlite: and memory: have `clients` only; memory: those of this process, by its name.
///
/// Fails with errc::invalid_url, unknown_scheme, not_built; errc::invalid_value for a request out
/// of its ranges; errc::not_supported where the store, its version or its policy does not have that
/// source, errc::access_denied where the user may not ask (the message names the right), and
/// errc::overloaded where `monitor` was refused or given up for the load; each message has what to
/// do instead. errc::unavailable, errc::timed_out.
result<survey> survey_store(std::string_view url, survey_request const& request = {});

}  // namespace v0
}  // namespace herdlock
