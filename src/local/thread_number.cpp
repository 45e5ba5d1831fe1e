#include "local/thread_number.hpp"

#include <bitset>
#include <mutex>

namespace herdlock {
inline namespace v0 {
namespace detail {
namespace {

constexpr std::size_t none = most_numbered_threads;
constexpr std::size_t not_asked = most_numbered_threads + 1;

// Neither has a destructor that does anything: threads end after the objects of the program, too.
constinit std::mutex guard;
constinit std::bitset<most_numbered_threads> taken;

// Without a destructor, so that a look costs no check of whether it has been constructed.
constinit thread_local std::size_t mine = not_asked;

struct giver {
  ~giver() {
    std::lock_guard hold(guard);
    taken.reset(mine);
    // Other destructors of this thread may still ask.
    mine = none;
  }
};

[[gnu::noinline]] std::size_t take() noexcept {
  {
    std::lock_guard hold(guard);
    mine = 0;
    while (mine != none && taken.test(mine)) ++mine;
    if (mine == none) return none;
    taken.set(mine);
  }
  thread_local giver gives_back;
  return mine;
}

}  // namespace

std::size_t thread_number() noexcept { return mine == not_asked ? take() : mine; }

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
