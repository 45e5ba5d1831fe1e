#include "scenes/takeover_board.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "stage/bench_board.hpp"
#include "terminal/exit_code.hpp"

namespace herdlock::cli {

takeover_board& takeover_board::in_shared_memory() {
  void* const place = ::mmap(nullptr, sizeof(takeover_board), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) {
    throw command_error(exit_code::internal, "no memory that processes can share");
  }
  return *new (place) takeover_board;
}

void takeover_board::begin(int who, std::uint64_t term) {
  for (int other = 0; other < candidates; ++other) {
    if (other == who || other == excused) continue;
    if (at(other).working != 0) ++overlaps_;
  }
  at(who).working = term;
  at(who).begun_ns = steady_ns();
  at(who).begun_term = term;
  act(term);
}

void takeover_board::act(std::uint64_t term) {
  auto seen = highest_.load();
  while (seen < term && !highest_.compare_exchange_weak(seen, term)) {
  }
  ++acts_;
  if (seen > term) ++overlaps_;
}

void takeover_board::end(int who) {
  at(who).ended_ns = steady_ns();
  at(who).working = 0;
}

void takeover_board::complain(std::string_view text) {
  if (complained_.exchange(true)) return;
  std::copy_n(text.begin(), std::min(text.size(), complaint_.size() - 1), complaint_.begin());
}

void takeover_board::clear(int who) {
  seat& place = at(who);
  place.state = election_state::idle;
  place.working = 0;
  place.resign = false;
  place.stand = true;
}

int takeover_board::leader() const {
  auto const term = highest();
  for (int who = 0; who < candidates; ++who) {
    if (term != 0 && at(who).working == term) return who;
  }
  return nobody;
}

}  // namespace herdlock::cli
