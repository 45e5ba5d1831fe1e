// A worker of `herdlock demo election`: a candidate in a process of its own, and what it says.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <herdlock/types.hpp>

namespace herdlock::cli {

enum class worker_word : std::int32_t {
  stands,    ///< asks for the term, and waits for it
  leads,     ///< its work begins
  renews,    ///< the store has renewed its term
  stops,     ///< its work has been told to stop, and has
  resigned,  ///< and has given the term back
  trouble,   ///< with the store
};

/// What a worker writes into the pipe, in one piece: less than PIPE_BUF.
struct worker_message {
  std::int64_t at_ns;
  std::int32_t worker;
  worker_word word;
  std::uint64_t term;
  char text[256];
};

/// In memory that the processes share.
struct worker_orders_page {
  std::atomic<bool> resign{false};  ///< give the term back, then stand again when told
  std::atomic<bool> stand{true};
  std::atomic<bool> over{false};
};

struct worker_terms {
  std::string url;
  resource name;
  milliseconds ttl;
  int pipe;
};

/// Stands until it is over. Throws herdlock::error for a store that refuses.
void stand_as_worker(worker_terms const& at, int worker, worker_orders_page& orders);

}  // namespace herdlock::cli
