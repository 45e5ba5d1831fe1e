// The processes of `near`: one writes, the others read.
#pragma once

#include <herdlock/types.hpp>
#include <string>

#include "scenes/near_board.hpp"

namespace herdlock::lab {

struct near_terms {
  std::string url;      ///< as this process is to open it
  std::string address;  ///< of the relay, as the URL has it; empty: there is none
  std::string server;   ///< what messages have in the place of that address
  std::string key;
  milliseconds ttl{};
  milliseconds every{};          ///< the writer changes the value so often
  milliseconds max_staleness{};  ///< of the readers
  /// A reader waits so long until it keeps the value, and the writer until it is removed.
  milliseconds patience{};
};

/// Both go by the stages of the board, and return when their work is over. They throw when the
/// writer's first write failed, or the store refused something; when a reader could not keep the
/// value. What the store only does not answer in time is counted and done again.
void write_changes(near_terms const& terms, near_board& board);
void read_changes(near_terms const& terms, std::size_t reader, near_board& board);

}  // namespace herdlock::lab
