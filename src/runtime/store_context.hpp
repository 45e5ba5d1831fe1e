// The context that the user's handles (store, lock, lease, cache) share. The last of them closes
// the store.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <herdlock/open.hpp>

#include "runtime/store_core.hpp"

namespace herdlock::runtime {
struct io_runner;
}

namespace herdlock {
inline namespace v0 {
namespace detail {

/// Owned by the user's handles alone, never by a pending operation: its destructor is the moment
/// at which nobody can ask for anything any more. It waits for leases that are being given back
/// (runtime::close_limit at most), unless it runs on the store's own thread.
class store_context {
 public:
  static result<std::shared_ptr<store_context>> open(store::backend_factory const& make,
                                                     open_options const& options);
  store_context(std::shared_ptr<runtime::io_runner> runner,
                std::shared_ptr<runtime::store_core> core);
  store_context(store_context const&) = delete;
  store_context& operator=(store_context const&) = delete;
  ~store_context();

  std::shared_ptr<runtime::store_core> const& core() const { return core_; }
  asio::any_io_executor const& executor() const { return core_->executor(); }

  /// Stops the process when called on the store's own thread: a blocking call would wait for
  /// itself.
  void require_other_thread() const;

  /// False where waiting for the store's executor may be waiting for oneself: on its own thread,
  /// and on any thread when the executor is the user's.
  bool may_wait_for_it() const { return runner_ && !on_own_thread(); }
  bool on_own_thread() const;
  /// On a thread that runs the executor right now, as far as that is of a kind that can tell.
  bool runs_here() const;
  /// On a thread that would run it, if it were not here: of the context below its strand.
  bool could_run_here() const;
  bool has_own_thread() const { return runner_ != nullptr; }

  /// How long an executor of the user's may do nothing at all until a blocking call takes it that
  /// nobody runs it: two time limits of a store, and one second. Shorter in tests.
  milliseconds patience() const { return patience_; }
  void set_patience(milliseconds patience) { patience_ = patience; }

 private:
  std::shared_ptr<runtime::io_runner> runner_;  // null when the user gave an executor
  std::shared_ptr<runtime::store_core> core_;
  milliseconds patience_{5000};
};

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
