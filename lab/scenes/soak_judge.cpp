#include "scenes/soak_judge.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "terminal/exit_code.hpp"

namespace herdlock::cli {
namespace {

void raise_to(soak_judge::count& most, std::int64_t value) {
  auto seen = most.load();
  while (seen < value && !most.compare_exchange_weak(seen, value)) {
  }
}

}  // namespace

soak_judge& soak_judge::in_shared_memory() {
  void* const place = ::mmap(nullptr, sizeof(soak_judge), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) {
    throw command_error(exit_code::internal, "no memory that processes can share");
  }
  return *new (place) soak_judge;
}

void soak_judge::guarded_work(int resource, std::uint64_t fencing) {
  enter(resource, fencing);
  auto& increments = things_.at(static_cast<std::size_t>(resource)).increments;
  increments.store(increments.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  leave(resource);
}

void soak_judge::enter(int resource, std::uint64_t fencing) {
  thing& at = things_.at(static_cast<std::size_t>(resource));
  if (at.inside.fetch_add(1) != 0) ++overlaps;
  bool const has_token = fencing != 0;
  if (has_token && at.last_fencing.exchange(fencing) >= fencing) ++fencing_steps_back;
}

void soak_judge::leave(int resource) {
  things_.at(static_cast<std::size_t>(resource)).inside.fetch_sub(1);
}

void soak_judge::complain(std::string_view text) {
  if (complained_.exchange(true)) return;
  std::copy_n(text.begin(), std::min(text.size(), complaint_.size() - 1), complaint_.begin());
}

std::int64_t soak_judge::guarded_increments() const {
  std::int64_t sum = 0;
  for (auto const& each : things_) sum += each.increments.load();
  return sum;
}

void soak_judge::note_release(int resource, std::int64_t now_us) {
  things_.at(static_cast<std::size_t>(resource)).released_us.store(now_us);
}

// A resource that lay free while nobody asked has not stalled.
void soak_judge::note_grant(int resource, std::int64_t now_us, std::int64_t asked_us) {
  auto const released = things_.at(static_cast<std::size_t>(resource)).released_us.load();
  raise_to(longest_wait_us, now_us - asked_us);
  constexpr std::int64_t second_us = 1'000'000;
  if (released != 0 && now_us - std::max(released, asked_us) > second_us) ++stalls;
}

}  // namespace herdlock::cli
