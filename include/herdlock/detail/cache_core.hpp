// The compiled half of cache<T>: what the template passes on, with the types erased.
#pragma once

#include <herdlock/detail/boost_version.hpp>

#include <boost/intrusive/list_hook.hpp>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <herdlock/cache_options.hpp>
#include <herdlock/cached.hpp>
#include <herdlock/call_options.hpp>
#include <herdlock/detail/async.hpp>
#include <herdlock/hot_fleet.hpp>
#include <herdlock/load_context.hpp>
#include <herdlock/open.hpp>
#include <herdlock/value.hpp>

namespace herdlock::runtime {
class cache_engine;
class cache_events;
class loader_pool;
class local_parts;
class posting_gate;
}  // namespace herdlock::runtime

namespace herdlock {
inline namespace v0 {
namespace detail {

/// An entry as caller_wish::examine finds it: the object of that answer is one of these.
struct examined_entry {
  cache_answer answer;
  looked_times times;
};

/// Makes the T of an entry that is not `absent`. Must not throw.
using cache_decode = result<std::shared_ptr<void>> (*)(cache_value const&);

/// The outcome of a loader.
struct load_outcome {
  cache_answer answer;
  result<cache_value> encoded = cache_value(absent{});
  std::optional<std::string> error = std::nullopt;  ///< of a loader that threw: its text
  bool unfinished = false;  ///< the loader was destroyed or could not run: no word on the key
  bool begun = true;        ///< false: it was asked to stop before, and its call may load again
  load_decisions decided = {};
};

/// Thrown instead of beginning a loader that has been asked to stop already.
struct stopped_before_it_began : std::exception {
  char const* what() const noexcept override { return "asked to stop before it began"; }
};

/// The text of a loader's exception.
std::string exception_text(std::exception_ptr const& thrown);
/// The outcome of a loader that threw, or that had been asked to stop before it began.
load_outcome failed_outcome(std::exception_ptr const& thrown);

/// Takes a loader's outcome to the flight, from any thread, once. Dropped without a call (the
/// loader's context was torn down) it reports the load as unfinished.
class load_sink {
 public:
  using deliver_type = std::function<void(load_outcome)>;
  explicit load_sink(deliver_type deliver) : deliver_(std::move(deliver)) {}
  load_sink(load_sink&& other) noexcept : deliver_(std::exchange(other.deliver_, nullptr)) {}
  load_sink& operator=(load_sink&&) = delete;
  ~load_sink();

  void operator()(load_outcome outcome) {
    if (auto const deliver = std::exchange(deliver_, nullptr)) deliver(std::move(outcome));
  }

 private:
  deliver_type deliver_;
};

/// A thing that a caller has while he waits, and that goes with him.
struct held_by_caller {
  held_by_caller() = default;
  held_by_caller(held_by_caller const&) = delete;
  held_by_caller& operator=(held_by_caller const&) = delete;
  virtual ~held_by_caller() = default;
};

/// Whether a caller wants what is there, or has a loader for what is not; `refresh`: or has one
/// only for what is there and stale; `load_now`: or for whatever is there; `examine`: wants what
/// the store has, stale or not.
enum class caller_wish { look, load, refresh, load_now, examine };

/// Whose loader a call asks for: its own, or that of the cache.
enum class loader_from { call, cache };

/// The effect of a call on the entries with a tag.
enum class tag_ending { invalidate, expire };

/// One waiting call: its completion handler, its loader, and its slot in the engine. One
/// allocation per call.
class cache_caller : public std::enable_shared_from_this<cache_caller>,
                     public boost::intrusive::list_base_hook<
                         boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  virtual ~cache_caller() = default;

  /// Completes the call on its handler's executor: inside, if that is the store's, so it is called
  /// in an event of its own, and what the handler throws leaves that. Called once.
  virtual void complete(result<cache_answer> answer) = 0;
  /// Runs the loader of the call: a coroutine on its handler's executor, which is the store's own
  /// when the handler has none; a blocking one on the thread that waits for the call. False, and it
  /// does not run, when that thread does not wait any more.
  /// REQUIRES: brings_loader(); the call is not completed before the sink was called.
  virtual bool start_load(load_context context, load_sink sink) = 0;
  /// The executor of the call is being destroyed, and its loader with it: so is the handler, which
  /// is not called. In the loader's thread, before its sink says so.
  virtual void abandon() = 0;
  /// The loader will not be needed (any more).
  virtual void drop_loader() {}
  /// Whether the call could load the key next. Else `later` is called once that may have changed.
  virtual bool may_claim(std::function<void()> const& later);
  /// It is known whether the loader runs now: another is at it. Not called where the loader is
  /// started or dropped.
  virtual void load_decided() {}
  /// The load waits for a slot. Once that is free, may_claim() is asked again.
  virtual void load_queued() {}

  /// Whether the call brings a loader; if not, it asks for what the loader of the cache gives.
  bool brings_loader() const noexcept { return brings_loader_; }

  // The engine's.
  cache_key key;  ///< prefix included
  caller_wish wish;
  call_options how{};
  bool answered = false;
  bool loads = false;        ///< its loader runs, and belongs to the flight that is named below
  bool missed = false;       ///< it is counted already
  bool in_flight = false;    ///< it waits in the flight of the ticket below
  std::uint64_t flight = 0;  ///< a ticket of the flight table
  std::uint32_t slot = 0;
  std::uint32_t visit = 0;
  clock::time_point deadline{};
  /// The end that came while the loader ran: the answer to the call, should no value come.
  std::unique_ptr<result<cache_answer>> end;
  /// The value of an entry, while the load of the next one runs.
  std::unique_ptr<held_by_caller> copy;
  std::unique_ptr<held_by_caller> own_wait;  ///< the timer of a wait that is not the cache's

 protected:
  cache_caller(cache_key full_key, caller_wish what, loader_from loader)
      : key(std::move(full_key)), wish(what), brings_loader_(loader == loader_from::call) {}

 private:
  bool brings_loader_;
};

using caller_ptr = std::shared_ptr<cache_caller>;

/// The threads that run the loads of a cache's own loader, and the way back.
struct home_of_loads {
  std::weak_ptr<runtime::loader_pool> pool;
  std::shared_ptr<runtime::posting_gate> back;
};

/// The loader that a cache has of its own, with the types erased. On the store's executor.
class owned_load {
 public:
  virtual ~owned_load() = default;
  /// Runs it for one key, perhaps together with others: a coroutine on its executor, a blocking one
  /// in the pool. A load that cannot begin is told through the sink.
  virtual void start(load_context context, load_sink sink, home_of_loads const& home) = 0;
};

/// The part that the copies of a cache<T> share. When its destructor runs nobody can ask any more:
/// pending calls complete with errc::canceled, running claims are given up, and blocking loaders
/// that still run are waited for (unless it runs on their or the store's own thread).
class cache_core {
 public:
  /// Throws herdlock::error for options outside their ranges.
  cache_core(store values, std::optional<store> locks, cache_options options, layout form,
             cache_decode decode, std::shared_ptr<owned_load> owned);
  cache_core(cache_core const&) = delete;
  cache_core& operator=(cache_core const&) = delete;
  ~cache_core();

  boost::asio::any_io_executor get_executor() const { return values_.get_executor(); }
  /// The key with the prefix, or errc::invalid_name.
  result<cache_key> full_key(std::string_view key) const;

  /// Any thread. The caller is completed exactly once, never inside the call.
  void submit(caller_ptr caller);
  /// The same for many: their reads are sent together.
  void submit_all(std::vector<caller_ptr> callers);
  /// Any thread: completes the caller with errc::canceled if it is still waiting. Keeps neither the
  /// caller nor the executor: a signal's slot may have it for longer than they live.
  std::function<void()> canceler(caller_ptr const& caller) const;

  /// The value that this process keeps of the key; a miss otherwise. Any thread, no I/O.
  cache_answer find_near(std::string_view key, caller_wish wish) const noexcept;
  void fence(handler<void> done);
  void drop_kept(handler<void> done);
  failure pin(std::string_view key);
  void unpin(std::string_view key);
  void put(std::string_view key, result<cache_value> value, handler<void> done);
  void invalidate(std::string_view key, handler<bool> done);
  void expire(std::string_view key, handler<bool> done);
  void end_tag(std::string_view tag, tag_ending how, handler<void> done);
  void clear(handler<void> done);

  /// Runs a blocking loader of the cache's own on one of at most max_loads +
  /// max_loads_without_store threads.
  static void run_on(std::weak_ptr<runtime::loader_pool> const& pool, std::function<void()> work);
  /// Whether calls with such a loader and such options can be served by what this cache has.
  failure check_call(loader_from whose, caller_wish wish, call_options const& how) const;
  /// For loading_here.
  void const* identity() const noexcept { return pool_.get(); }
  /// errc::load_failed when this thread is loading the key already.
  failure why_own_key(std::string_view key) const;
  /// The way onto the executor for what may outlive the cache.
  std::shared_ptr<runtime::posting_gate> back() const;

  /// The context in which a blocking call waits.
  store_context const& context() const { return *context_of(values_); }
  cache_stats stats() const;
  std::vector<hot_key> most_read(std::size_t most) const;
  hot_keys_stats hot_stats() const;
  std::vector<fleet_hot_key> most_read_by_fleet(std::size_t most) const;
  hot_fleet_stats fleet_stats() const;
  failure last_store_error() const;

 private:
  std::optional<store> locks_;  // outlives values_, which waits for claims being given up
  store values_;
  std::string prefix_;
  layout form_;
  std::shared_ptr<runtime::cache_engine> engine_;
  std::shared_ptr<runtime::local_parts const> local_;
  std::shared_ptr<runtime::loader_pool> pool_;
  std::shared_ptr<runtime::cache_events> events_;  // null without an observer
};

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
