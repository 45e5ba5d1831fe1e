// The processes of `herdlock demo near`: one writes, the others read.
#pragma once

#include <herdlock/types.hpp>
#include <string>

#include "demo/near_board.hpp"

namespace herdlock::cli {

struct near_terms {
  std::string url;    ///< as this process is to open it
  std::string shown;  ///< what messages call the store
  std::string key;
  milliseconds ttl{};
  milliseconds every{};          ///< the writer changes the value so often
  milliseconds max_staleness{};  ///< of the readers
};

/// Both go by the stages of the board, and return when their work is over. They throw
/// herdlock::error: the writer for whatever the store refuses, a reader when its first read fails;
/// later errors of a reader are counted.
void write_changes(near_terms const& terms, near_board& board);
void read_changes(near_terms const& terms, std::size_t reader, near_board& board);

}  // namespace herdlock::cli
