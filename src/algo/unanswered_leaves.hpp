// The leaves of a queue that the server has not answered yet: who has stopped waiting stands in it
// until then.
//
//   begin ──▶ sent ── answered ──▶ gone; what is kept is sent
//              │ ▲
//       failed │ │ tick: one of those that are kept
//              ▼ │
//             kept
//
// A server that refuses one will refuse others: one at a time is tried, with pauses that grow, and
// when it is through all others follow.
//
// Pure: no clock, no server.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "algo/backoff.hpp"

namespace herdlock::algo {

/// So many are kept at most; the oldest goes for one more.
inline constexpr std::size_t max_kept_leaves = 65'536;

/// An order to the driver, for now.
struct leave_action {
  std::vector<std::int64_t> send{};                  ///< these leaves
  std::optional<std::chrono::microseconds> pause{};  ///< then call tick(); no other one is running
  std::optional<std::int64_t> dropped{};             ///< will never be sent
};

/// All numbers are the driver's, each for one leave, and rise. A leave that was sent is answered()
/// or failed(), unless clear() came first.
class unanswered_leaves {
 public:
  /// Somebody stops waiting.
  leave_action begin(std::int64_t number);
  /// The server has answered, whatever.
  leave_action answered();
  /// The server has not answered, or refuses.
  leave_action failed(std::int64_t number);
  /// The pause is over.
  leave_action tick();
  /// The leave's waiter is back: it is not sent any more.
  void forget(std::int64_t number) { kept_.erase(number); }
  /// The session is over, and its queue entries with it.
  void clear();

 private:
  leave_action keep(std::int64_t number);

  std::set<std::int64_t> kept_;
  backoff pause_{{std::chrono::milliseconds{50}, std::chrono::seconds{2}}};
  bool in_trouble_ = false;  // since one failed, until one is answered
  bool pausing_ = false;
};

}  // namespace herdlock::algo
