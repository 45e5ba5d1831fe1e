// One way of stopping a leader, again and again, on one store.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <herdlock/types.hpp>

namespace herdlock::cli {

enum class leader_stop {
  graceful,  ///< resign(): as at a shutdown
  kill,      ///< SIGKILL
  freeze,    ///< SIGSTOP, and SIGCONT when the next one works
};
char const* name_of(leader_stop how);

struct takeover_figures {
  std::string store;  ///< its URL without the password
  leader_stop how{};
  std::vector<double> took_ms{};    ///< from the stop to the first act in the next term
  std::vector<double> thawed_ms{};  ///< freeze: from SIGCONT until the old work has ended
  std::int64_t acts = 0;
  std::int64_t overlaps = 0;
  std::string trouble{};  ///< why it could not be measured; empty: it was
};

/// Three candidates in processes of their own, which die with this one. `progress` is called before
/// each round. Throws command_error: unavailable when the store cannot be used or no leader is
/// found in time, 128 + signal when the user interrupts.
void measure_takeover(std::string const& url, int rounds, milliseconds ttl,
                      std::function<void(int round)> const& progress, takeover_figures& into);

}  // namespace herdlock::cli
