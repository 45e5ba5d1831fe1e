#include "cache/near/near_record.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {
namespace {

// The content of a handle's control block. It fills cache lines of its own, so that no other
// thread's count stands beside this one. A block outlives its last handle by the lines that refer
// to it, so the record is given up here and not in a destructor.
struct alignas(64) record_keeper {
  near_record_ptr record;

  void operator()(near_record const*) noexcept { record.reset(); }
};

}  // namespace

near_handle near_record::handle(near_record_ptr const& self, std::size_t thread) {
  near_record& record = *self;
  std::unique_lock hold(record.handles_.lock, std::try_to_lock);
  if (!hold || !record.live_.load(std::memory_order_relaxed)) return nullptr;
  for (owned_handle const& one : record.handles_.all) {
    if (one.thread == thread) return one.handle;
  }
  near_handle made(self.get(), record_keeper{self});
  record.handles_.all.push_back({thread, made});
  return made;
}

bool near_record::take_handle(std::size_t thread, near_handle& out) const noexcept {
  std::unique_lock hold(handles_.lock, std::try_to_lock);
  if (!hold) return false;
  for (owned_handle& one : handles_.all) {
    if (one.thread != thread) continue;
    out = std::move(one.handle);
    std::swap(one, handles_.all.back());
    handles_.all.pop_back();
    if (handles_.all.empty()) std::vector<owned_handle>().swap(handles_.all);
    break;
  }
  return true;
}

// A handle that is made by somebody who has seen the record open is in the list by now, or its
// maker waits for the lock and then sees it closed.
void near_record::release_handles() noexcept {
  std::vector<owned_handle> released;
  std::lock_guard hold(handles_.lock);
  released.swap(handles_.all);
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
