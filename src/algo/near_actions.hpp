// The words between the machine of the near cache and what drives it. See near_machine.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <herdlock/types.hpp>

namespace herdlock::algo {

/// The number of a connection. One machine does not use it again.
enum class near_connection : std::uint64_t {};
/// The values read over one connection since it came up, or was flushed. Never used again.
enum class near_generation : std::uint64_t {};

/// Whether keys can move from one server to another (a cluster).
enum class near_servers { one, several };

struct near_settings {
  /// How old a served value can be, at most, where pushes do not come; more than 0.
  milliseconds max_staleness{1000};
  near_servers servers = near_servers::one;
  /// The longest life of each entry, from its read on.
  std::optional<milliseconds> max_age = std::nullopt;
  /// If the server refuses to push, entries live so long, and may be out of date for as long.
  /// Nothing: then there are none.
  std::optional<milliseconds> untracked_age = std::nullopt;
  std::size_t stripes = 4096;  ///< of stamps, 1 or more; 16 bytes each
};

struct near_action {
  enum class kind {
    drop_key,      ///< out of the table
    drop_slot,     ///< all keys of the slot, out of the table
    end,           ///< no entry of `generation` is served any more
    trust,         ///< entries of `generation` may be served before `until`
    ping,          ///< send a PING over `connection`; pong() is to name `number`
    fence_passed,  ///< of this number, and all before it
  };

  kind what;
  std::string_view key{};  ///< the one that the event had
  std::uint16_t slot = 0;
  near_generation generation{};
  clock::time_point until{};
  near_connection connection{};
  std::uint64_t number = 0;
};
using near_plan = std::vector<near_action>;

/// The stamp of a read that may fill. Opaque.
struct near_stamp {
  near_connection connection{};
  near_generation values{};
  near_generation negatives{};
  std::uint64_t of_key = 0;
  clock::time_point sent{};
};

/// The answer to a read.
struct near_answer {
  enum class found {
    value,
    negative,
    support,  ///< values rest on it: max_age is theirs, and would end them all at one instant
  };

  near_connection from{};  ///< the one that answered: after MOVED or ASK not the one asked
  found what = found::value;
  /// The time left to the key, of the same transaction (PTTL); nothing: it does not expire.
  std::optional<milliseconds> left = std::nullopt;
};

/// How the table is to keep it.
struct near_entry {
  near_generation generation{};
  clock::time_point expires{};
  /// When the entry ends in the store, as far as the server says; later or the same.
  clock::time_point ends = clock::time_point::max();
  /// The time from which on one look is let through to the store, while the others are served.
  clock::time_point due = clock::time_point::max();
};

enum class near_coverage {
  off,      ///< nothing that is read over it is kept
  tracked,  ///< the server pushes
  aged,     ///< it does not, and untracked_age is set
};

}  // namespace herdlock::algo
