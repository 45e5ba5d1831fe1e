#include "runtime/inherited.hpp"

#include "types/quiet_thread.hpp"

namespace herdlock::runtime {

failure why_inherited(store_core const& home) {
  if (!home.inherited()) return {};
  return make_failure(errc::forked, "store " + home.display_name() +
                                        " was opened before fork(): it is the parent's; a child "
                                        "opens its own");
}

void run_apart(std::function<void()> call) {
  auto const guarded = [call = std::move(call)] {
    try {
      call();
    } catch (...) {  // as a store drops it on a thread of its own
    }
  };
  if (!detail::start_loose_thread("herdlock-fork", guarded)) guarded();
}

}  // namespace herdlock::runtime
