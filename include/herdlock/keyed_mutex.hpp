// A mutex for each key, in one process: threads and coroutines queue together, first come, first
// served.
//
//     herdlock::keyed_mutex orders;
//     auto held = orders.lock("order:4711");                // blocks; unlocks at the end of scope
//     auto same = co_await orders.async_lock("order:4711");  // without a thread
//
// Keys are compared byte by byte: two keys never share a lock because of their hashes. A key that
// nobody holds costs no memory.
#pragma once

#include <herdlock/detail/boost_version.hpp>

#include <boost/asio/system_executor.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <herdlock/detail/async.hpp>
#include <herdlock/detail/keyed_mutex_located.hpp>
#include <herdlock/error.hpp>
#include <herdlock/types.hpp>

namespace herdlock {
inline namespace v0 {

namespace detail {
class keyed_mutex_core;    // src/local
struct keyed_mutex_entry;  // a key that is held
}  // namespace detail

struct keyed_mutex_options {
  /// Callers that may wait for one key at a time; the next one is refused with errc::overloaded.
  std::size_t max_waiters_per_key = 100'000;
  /// The executor on which handlers without one of their own are called, and timers of
  /// boost::asio::cancel_after run. The default is Asio's system thread pool.
  boost::asio::any_io_executor executor = boost::asio::system_executor();
};

/// A lock for every key. All members may be called from any thread.
///
/// Order: waiters of a key, blocking and asynchronous alike, get it in the order in which they
/// asked. unlock hands the key over to exactly the first of them and wakes nobody else; in between
/// the key is never free, so that nobody can barge in.
///
/// Cost: an uncontended lock and unlock does not allocate for keys of up to inline_key_bytes, as
/// long as few keys are held at a time (a longer key costs one allocation, and so does each
/// further key held at once in the same one of the 64 shards, the first time). At most
/// spare_entries_per_shard entries of 128 bytes per shard are kept for later use.
///
/// Not recursive: a caller that asks again for a key that it holds waits for itself.
///
/// REQUIRES: when the mutex is destroyed, no key is held and nobody waits. Checked: the process is
/// aborted with a message, also in release builds.
class keyed_mutex {
 public:
  static constexpr std::size_t inline_key_bytes = 64;
  static constexpr std::size_t spare_entries_per_shard = 16;

  /// The right to one key. Unlocks when destroyed; may be moved to and unlocked on another thread
  /// than the one that locked. A moved-from or default-constructed guard holds nothing.
  class [[nodiscard]] guard {
   public:
    guard() noexcept = default;
    guard(guard&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
    guard& operator=(guard&& other) noexcept {
      if (this != &other) {
        unlock();
        entry_ = std::exchange(other.entry_, nullptr);
      }
      return *this;
    }
    ~guard() {
      if (entry_) give_back(entry_);
    }

    /// Gives the key to its next waiter, or frees it. Does nothing when nothing is held. The next
    /// waiter's handler is never called from inside.
    void unlock() noexcept {
      if (auto* entry = std::exchange(entry_, nullptr)) give_back(entry);
    }
    bool owns_lock() const noexcept { return entry_ != nullptr; }
    explicit operator bool() const noexcept { return owns_lock(); }
    /// The key that is held, until it is unlocked; empty when nothing is held.
    std::string_view key() const noexcept;

   private:
    friend class detail::keyed_mutex_core;
    explicit guard(detail::keyed_mutex_entry* entry) noexcept : entry_(entry) {}
    static void give_back(detail::keyed_mutex_entry* entry) noexcept;

    detail::keyed_mutex_entry* entry_ = nullptr;
  };

  explicit keyed_mutex(keyed_mutex_options options = {});
  keyed_mutex(keyed_mutex const&) = delete;
  keyed_mutex& operator=(keyed_mutex const&) = delete;
  ~keyed_mutex();

  /// Waits for the key as long as it takes. Throws herdlock::error (errc::overloaded) when
  /// max_waiters_per_key callers wait for it already.
  guard lock(std::string_view key);

  /// The key if it is free at this moment; nothing when it is held, or being handed over.
  std::optional<guard> try_lock(std::string_view key);

  /// The key, or nothing when it could not be had by the deadline; a key that is handed over just
  /// as the deadline passes is returned. A deadline in the past tries once. Throws as lock does.
  std::optional<guard> try_lock_until(std::string_view key, clock::time_point deadline);

  /// The same by std::chrono's steady clock, which stands still while the machine is suspended.
  std::optional<guard> try_lock_until(std::string_view key,
                                      std::chrono::steady_clock::time_point deadline) {
    return try_lock_for(key, deadline - std::chrono::steady_clock::now());
  }

  /// The same, `timeout` from now (wait_forever: no deadline).
  template <class Rep, class Period>
  std::optional<guard> try_lock_for(std::string_view key,
                                    std::chrono::duration<Rep, Period> timeout) {
    // A timeout beyond the clock's range (about 292 years) would overflow the sum below.
    using seconds = std::chrono::duration<double>;
    if (seconds(timeout) >= seconds(std::chrono::hours(24 * 365 * 100))) return lock(key);
    return try_lock_until(key, clock::now() + std::chrono::duration_cast<clock::duration>(timeout));
  }

  /// Waits for the key without a thread. Completes with `void(failure, guard)` on the handler's
  /// associated executor (default: keyed_mutex_options::executor), never from inside this call.
  /// The handler's executor has outstanding work while its caller waits, and its context must
  /// outlive the wait.
  ///
  /// Errors: errc::overloaded as for lock; errc::canceled. Every cancellation type takes the
  /// caller out of the queue; a key that is handed over while its caller is being cancelled
  /// goes either to the caller (which then completes with it) or on to the next: never lost. A
  /// guard whose handler is dropped without being called is unlocked.
  template <class Token = boost::asio::deferred_t>
  auto async_lock(std::string_view key, Token&& token = {}) {
    return detail::initiate<guard>(
        get_executor(),
        [core = core_.get(), fallback = get_executor(), key = std::string(key)](auto&& h) {
          auto handled = std::forward<decltype(h)>(h);
          start_lock(*core, key, detail::locate<handler<guard>>(std::move(handled), fallback));
        },
        std::forward<Token>(token));
  }

  /// How many callers wait for the key at this moment; its holder is not counted.
  std::size_t waiting(std::string_view key) const;

  boost::asio::any_io_executor get_executor() const noexcept;

 private:
  static void start_lock(detail::keyed_mutex_core&, std::string_view key,
                         detail::located<handler<guard>>);

  std::unique_ptr<detail::keyed_mutex_core> core_;
};

}  // namespace v0
}  // namespace herdlock
