// What the processes of the stampede share, and what one of them does.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "scenes/stampede_scheme.hpp"
#include "stage/shared.hpp"
#include "stage/shared_warnings.hpp"

namespace herdlock::lab {

/// What is played next, said to all processes. Expiry N, from 1, has two steps: in 2 N - 1 the
/// first process keeps the old product and waits for its expiry, in 2 N the requests of all come at
/// once.
namespace stampede_step {
inline constexpr int begin = 0;
inline constexpr int end = -1;  ///< the first process takes the entry away
constexpr int expires(int expiry) { return 2 * expiry - 1; }
constexpr int requests_come(int expiry) { return 2 * expiry; }
}  // namespace stampede_step

/// In microseconds from when the requests of its process came.
struct right_answer {
  std::uint32_t at_us;
  bool is_old;  ///< the product as it was before the expiry
};
struct load_span {
  std::uint32_t from_us, to_us;
};

/// One process. The figures are those of the last expiry, for whoever has seen it done.
struct herd_process {
  static constexpr int not_there = -2;

  std::atomic<int> done{not_there};         ///< the step that it has ended
  std::atomic<int> id{0};                   ///< as the system has it
  std::atomic<std::int64_t> loading_ns{0};  ///< since when a load is in the database's log; 0: none

  std::int64_t started_ns = 0;  ///< when its requests came
  std::uint32_t answers = 0;    ///< right ones
  std::uint32_t errors = 0;     ///< requests that failed or got a wrong answer
  std::atomic<std::uint32_t> loads{0};
  std::uint64_t waited = 0;     ///< requests that waited for a load, of those that followed, too
  std::uint64_t near_hits = 0;  ///< of the requests that came once more
};

struct stampede_board {
  /// Loads of a process in an expiry that are kept for the picture.
  static constexpr std::size_t max_loads = 1'000;

  stampede_board(stampede_orders const& orders, shared_warnings& all_warnings)
      : warnings(all_warnings),
        requests(static_cast<std::size_t>(orders.requests)),
        each(static_cast<std::size_t>(orders.processes)),
        answers(each.size() * requests),
        loads(each.size() * max_loads) {}

  right_answer& answer(std::size_t process, std::size_t at) {
    return answers[process * requests + at];
  }
  load_span& load(std::size_t process, std::size_t at) { return loads[process * max_loads + at]; }

  struct for_all {
    std::atomic<int> step{stampede_step::begin};
    complaint first_error;  ///< why a request was without a right answer
  };

  shared_warnings& warnings;  ///< in shared memory, too
  std::size_t const requests;
  shared<for_all> all;
  shared_array<herd_process> each;
  shared_array<right_answer> answers;
  shared_array<load_span> loads;
};

/// What the requests of an expiry may be answered.
struct right_products {
  product fresh;
  std::optional<product> old;

  enum class verdict { fresh, old, wrong };

  right_products(guard_mode const& mode, std::int64_t revision) : fresh(product_at(revision)) {
    if (mode.serves_old) old = product_at(revision - 1);
  }
  verdict judged(product const& answer) const {
    if (answer == fresh) return verdict::fresh;
    return old && answer == *old ? verdict::old : verdict::wrong;
  }
};

/// The work of a process, until the last step. Throws command_error when it cannot go on.
void play_herd(stampede_orders const& orders, stampede_board& board, std::size_t process);

}  // namespace herdlock::lab
