#include <herdlock/detail/blocking.hpp>

#include <atomic>
#include <exception>
#include <new>
#include <string>

#include "runtime/inherited.hpp"
#include "runtime/store_context.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {

failure copy_failure() {
  try {
    throw;
  } catch (std::bad_alloc const&) {
    return make_failure(errc::overloaded, "there is no memory for a copy of the value");
  } catch (std::exception const& e) {
    return make_failure(errc::invalid_value,
                        std::string("the value has thrown when it was copied: ") + e.what());
  } catch (...) {
    if (!std::current_exception()) throw;  // no exception of C++: the thread is being unwound
    return make_failure(errc::invalid_value, "the value has thrown when it was copied");
  }
}

blocking_wait::blocking_wait(store_context const& context) : context_(context) {
  if (!context.core()->inherited()) context.require_other_thread();
}

bool blocking_wait::may_be_given_up() const { return !context_.has_own_thread(); }

bool blocking_wait::until(std::function<bool(milliseconds)> const& answered_within) const {
  if (!may_be_given_up()) return true;
  for (;;) {
    auto const beat = std::make_shared<std::atomic<bool>>(false);
    asio::post(context_.executor(), [beat] { beat->store(true); });
    if (answered_within(context_.patience())) return true;
    if (!beat->load()) return false;
  }
}

// Ports clear and emit on the executor; so do we. What is left in the slot may keep the call, which
// keeps the slot: it is cleared also when nobody ever runs this.
void blocking_wait::cancel_once_run(std::shared_ptr<asio::cancellation_signal> signal) const {
  auto const clear = [signal](asio::cancellation_signal* one) { one->slot().clear(); };
  std::shared_ptr<asio::cancellation_signal> once(signal.get(), clear);
  asio::post(context_.executor(),
             [once = std::move(once)] { once->emit(asio::cancellation_type::all); });
}

failure blocking_wait::inherited() const { return runtime::why_inherited(*context_.core()); }

failure blocking_wait::nobody_runs_it() const {
  auto const& store = context_.core()->display_name();
  if (context_.could_run_here()) {
    return make_failure(errc::timed_out,
                        "this very thread is to run the executor of store " + store +
                            ", and waits in a blocking call: call it on another thread, or use "
                            "the async_ form");
  }
  return make_failure(errc::timed_out, "nobody runs the executor of store " + store +
                                           ": a blocking call needs a thread that does");
}

failure blocking_wait::stopped_before_it_began() const {
  return make_failure(errc::canceled, "the call on store " + context_.core()->display_name() +
                                          " was stopped before it began");
}

failure blocking_wait::closed() const { return context_.core()->closed_failure(); }

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
