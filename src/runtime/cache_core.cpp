// The handle's half of the cache: checks what comes in, and closes the engine with the last handle.
#include <herdlock/detail/cache_core.hpp>

#include "local/hot_keys_core.hpp"
#include "runtime/cache_engine.hpp"
#include "runtime/cache_frame.hpp"
#include "runtime/cache_loader_pool.hpp"
#include "runtime/cache_over_locks.hpp"
#include "runtime/store_context.hpp"
#include "runtime/with_work.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {
namespace {

void check_duration(char const* what, milliseconds value) {
  if (failure const why = check_ttl(value); why.code) {
    throw error(failure{why.code, std::string("cache option ") + what + ": " + why.message});
  }
}

void check_that(bool holds, std::string const& what) {
  if (!holds) throw error(make_failure(errc::invalid_value, "cache option " + what));
}

void check_lasting(cache_options const& options) {
  constexpr milliseconds none{0};
  constexpr milliseconds longest = std::chrono::hours{24 * 90};
  bool const lasts = options.ttl == herdlock::lasting;
  bool const scheduled = options.refresh_every != none;
  check_that(lasts || !scheduled, "refresh_every: needs ttl = lasting");
  check_that(!scheduled || options.format == cache_format::framed,
             "refresh_every: needs format = cache_format::framed; a plain entry has no times of "
             "its own");
  check_that(
      !scheduled || (options.refresh_every >= limits::min_ttl && options.refresh_every <= longest),
      "refresh_every: use 10 ms to 90 days, or 0");
  check_that(!lasts || options.grace == none, "grace: a lasting entry has none, it does not end");
  check_that(!lasts || scheduled || options.early_refresh == 0,
             "early_refresh: a lasting entry is loaded anew by refresh_every only");
  check_that(!lasts || options.max_lasting_entries > 0, "max_lasting_entries: use 1 or more");
  check_that(!lasts || options.max_lasting_bytes > 0, "max_lasting_bytes: use 1 or more");
}

// What rests on an entry's own times.
void check_freshness(cache_options const& options, std::optional<store> const& locks) {
  constexpr milliseconds none{0};
  bool const framed = options.format == cache_format::framed;
  struct {
    char const* name;
    bool is_set;
  } const needing_times[] = {
      {"grace", options.grace != none},
      {"fail_safe", options.fail_safe},
      {"soft_timeout", options.soft_timeout != none},
      {"max_error_back_off", options.max_error_back_off != none},
  };
  for (auto const& one : needing_times) {
    check_that(framed || !one.is_set,
               std::string(one.name) +
                   ": needs format = cache_format::framed; a plain entry has "
                   "no times of its own");
  }
  check_that(!framed || !locks,
             "format: framed entries need values and claims in one store; give the cache no store "
             "for its locks, or use cache_format::plain");
  check_that(framed || !options.tags,
             "tags: needs format = cache_format::framed; a plain entry has no room for them");
  check_that(options.tag_max_age >= none && options.tag_max_age <= limits::max_ttl,
             "tag_max_age: use 0 to 365 days");
  check_lasting(options);
  check_that(!locks || options.early_refresh == 0,
             "early_refresh: needs values and claims in one store; give the cache no store for its "
             "locks");
  check_that(options.early_refresh >= 0 && options.early_refresh <= 10,
             "early_refresh: use 0 to 10");
  if (options.grace != none) check_duration("grace", options.grace);
  bool const lasts = options.ttl == herdlock::lasting;
  check_that(lasts || options.ttl <= limits::max_ttl - options.grace,
             "grace: together with ttl at most 365 days");
  bool const keeps_stale = options.grace != none || options.refresh_every != none;
  check_that(!options.fail_safe || keeps_stale,
             "fail_safe: needs a grace, for which a stale entry is kept");
  check_that(options.soft_timeout >= none, "soft_timeout: use 0 or more");
  check_that(options.soft_timeout == none || keeps_stale,
             "soft_timeout: needs a grace, for which a stale entry is kept");
  if (options.soft_timeout == wait_forever) {
    check_that(options.fail_safe, "soft_timeout: wait_forever needs fail_safe");
  } else {
    check_that(options.soft_timeout < options.wait, "soft_timeout: use less than wait");
  }
  check_that(
      options.max_error_back_off == none || (options.max_error_back_off >= options.error_back_off &&
                                             options.max_error_back_off <= limits::max_ttl),
      "max_error_back_off: use error_back_off to 365 days, or 0");
}

void check_options(cache_options const& options) {
  if (options.ttl != herdlock::lasting) check_duration("ttl", options.ttl);
  check_duration("claim_ttl", options.claim_ttl);
  check_duration("max_load_time", options.max_load_time);
  if (options.negative_ttl != milliseconds{0}) check_duration("negative_ttl", options.negative_ttl);
  check_that(options.ttl_jitter >= 0 && options.ttl_jitter < 1, "ttl_jitter: use 0 to less than 1");
  check_that(options.wait > milliseconds{0}, "wait: use 1 ms or more");
  check_that(options.error_back_off >= milliseconds{0} && options.error_back_off <= limits::max_ttl,
             "error_back_off: use 0 to 365 days");
  check_that(options.max_loads > 0, "max_loads: use 1 or more");
  check_that(options.max_loads_without_store > 0, "max_loads_without_store: use 1 or more");
  check_that(options.max_waiting > 0, "max_waiting: use 1 or more");
  // A prefix that leaves no room for a key would make every call fail.
  if (!options.prefix.empty()) {
    auto const key = cache_key::parse(options.prefix + "k");
    if (key.has_error()) {
      throw error(failure{key.error().code, "cache option prefix: " + key.error().message});
    }
  }
}

// What `near` comes to.
near_cache check_near(cache_options const& options, store const& values,
                      std::optional<store> const& locks) {
  constexpr milliseconds none{0};
  auto const& core = *context_of(values)->core();
  auto const by_itself = core.pushes_changes() && !locks ? near_cache::hot : near_cache::off;
  auto const mode = options.near.value_or(options.hot_keys ? by_itself : near_cache::off);
  bool const on = mode != near_cache::off;
  check_that(on || options.near_max_age == none, "near_max_age: needs near");
  check_that(on || options.near_untracked_age == none, "near_untracked_age: needs near");
  if (!on) return mode;
  check_duration("max_staleness", options.max_staleness);
  if (options.near_max_age != none) check_duration("near_max_age", options.near_max_age);
  if (options.near_untracked_age != none) {
    check_duration("near_untracked_age", options.near_untracked_age);
  }
  check_that(options.near_entries > 0, "near_entries: use 1 or more");
  check_that(options.near_bytes > 0, "near_bytes: use 1 or more");
  check_that(options.near_max_value_bytes > 0, "near_max_value_bytes: use 1 or more");
  check_that(!locks,
             "near: needs values and claims in one store; give the cache no store for its "
             "locks, or use near_cache::off");
  if (core.pushes_changes() || !core.traits().across_processes) return mode;
  throw error(make_failure(errc::not_supported,
                           "cache option near: store " + values.display_name() +
                               " pushes no changes, so kept values would grow old unseen; use a "
                               "Redis store, or near_cache::off"));
}

// A store of leases alone (Redlock, a plain dialect) can lock for a cache, but not be one.
void check_keeps_values(store const& values) {
  if (context_of(values)->core()->keeps_values()) return;
  throw error(make_failure(errc::not_supported,
                           "store " + values.display_name() +
                               " keeps leases only; give the cache another store for its values"));
}

using runtime::with_work;

using entry_ending = void (runtime::cache_engine::*)(cache_key key, handler<bool> done);

void end_entry(std::shared_ptr<runtime::cache_engine> engine, entry_ending how,
               result<cache_key> full, handler<bool> done) {
  auto const executor = engine->home().executor();
  if (full.has_error()) {
    return post_result<bool>(executor, std::move(done), std::move(full).error());
  }
  asio::post(executor, [engine = std::move(engine), how, key = *std::move(full),
                        done = with_work<bool>(executor, std::move(done))]() mutable {
    ((*engine).*how)(std::move(key), std::move(done));
  });
}

}  // namespace

std::string exception_text(std::exception_ptr const& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (std::exception const& e) {
    return e.what();
  } catch (...) {
    return "an exception of an unknown type";
  }
}

load_sink::~load_sink() {
  if (!deliver_) return;
  (*this)(load_outcome{
      .answer = {}, .error = "the loader was destroyed before it finished", .unfinished = true});
}

cache_core::cache_core(store values, std::optional<store> locks, cache_options options, layout form,
                       cache_decode decode)
    : locks_(std::move(locks)), values_(std::move(values)), prefix_(options.prefix), form_(form) {
  check_options(options);
  check_freshness(options, locks_);
  check_keeps_values(values_);
  if (options.hot_keys) check_hot_keys(*options.hot_keys, "cache option hot_keys.");
  check_that(options.fleet_threshold == 0 ||
                 (options.fleet_threshold >= 1 && options.fleet_threshold <= 1e12),
             "fleet_threshold: use 0, or 1 to 1e12 reads a second");
  auto const near_mode = check_near(options, values_, locks_);
  pool_ =
      std::make_shared<runtime::loader_pool>(options.max_loads + options.max_loads_without_store);
  auto lock_core = locks_ ? context_of(*locks_)->core() : nullptr;
  engine_ = std::make_shared<runtime::cache_engine>(
      context_of(values_)->core(), std::move(lock_core),
      runtime::engine_settings{std::move(options), form, decode, near_mode});
  asio::post(get_executor(), [weak = std::weak_ptr(engine_)] {
    auto const engine = weak.lock();
    if (!engine) return;
    if (engine->home().closing()) return engine->on_closing();
    engine->home().tell_when_closing(*engine);
    if (auto const& near = engine->near()) near->open();
  });
  near_ = engine_->near();
  hot_ = engine_->hot();
  if (auto const& over = engine_->over_locks()) {
    using contexts = std::pair<std::shared_ptr<store_context>, std::shared_ptr<store_context>>;
    over->keep_open(std::make_shared<contexts>(context_of(values_), context_of(*locks_)));
  }
}

cache_core::~cache_core() {
  if (hot_) hot_->shut();
  near_ = nullptr;
  hot_ = nullptr;
  if (!engine_) return;
  auto const tasks = engine_->over_locks() ? engine_->over_locks()->tasks() : nullptr;
  auto closing = tasks ? tasks->begin() : nullptr;
  asio::post(get_executor(), [engine = std::move(engine_), closing = std::move(closing)]() mutable {
    engine->on_closing();
    engine.reset();  // before the task ends, for which the destructor waits
  });
  // Waiting on a store's own thread would keep the loaders from being told; and on an executor of
  // the user's this may be that thread.
  bool const may_wait =
      context_of(values_)->may_wait_for_it() && (!locks_ || context_of(*locks_)->may_wait_for_it());
  if (!may_wait) {
    pool_->abandon();
    return;
  }
  pool_->close();
  // Claims that are being given back, as store_context does for leases.
  if (tasks) tasks->wait_idle(runtime::close_grace);
}

result<cache_key> cache_core::full_key(std::string_view key) const {
  if (auto const own = cache_key::parse(key); own.has_error()) return own.error();
  bool const framed = engine_->options().format == cache_format::framed;
  if (framed && key.starts_with(runtime::tag_record_prefix)) {
    return make_failure(errc::invalid_name,
                        "the key " + in_quotes(key) + " is of the kind that tags have");
  }
  auto full = prefix_ + std::string(key);
  if (locks_) {
    auto const lock = resource::parse(full + std::string(runtime::lock_suffix));
    if (lock.has_error()) return lock.error();
  }
  return cache_key::parse(full);
}

cache_answer cache_core::find_near(std::string_view key, caller_wish wish) const noexcept {
  if (!near_) return {};
  bool const loads = wish == caller_wish::load;
  return runtime::answer_of(near_->find(key, loads ? near_look::loader : near_look::any));
}

std::vector<hot_key> cache_core::most_read(std::size_t most) const {
  return hot_ ? hot_->top(most) : std::vector<hot_key>();
}

hot_keys_stats cache_core::hot_stats() const { return hot_ ? hot_->stats() : hot_keys_stats(); }

std::vector<fleet_hot_key> cache_core::most_read_by_fleet(std::size_t most) const {
  return hot_ ? hot_->fleet_top(most) : std::vector<fleet_hot_key>();
}

hot_fleet_stats cache_core::fleet_stats() const {
  return hot_ ? hot_->fleet_stats() : hot_fleet_stats();
}

void cache_core::fence(handler<void> done) {
  auto const executor = get_executor();
  asio::post(executor, [engine = engine_] { engine->fence(); });
  if (!near_) return post_result<void>(executor, std::move(done), boost::system::in_place_value);
  asio::post(executor, [near = near_, done = with_work<void>(executor, std::move(done))]() mutable {
    near->fence(std::move(done));
  });
}

void cache_core::drop_kept(handler<void> done) {
  auto const executor = get_executor();
  asio::post(executor, [engine = engine_, near = near_, executor,
                        done = with_work<void>(executor, std::move(done))]() mutable {
    engine->fence();
    if (near) near->drop_all();
    post_result<void>(executor, std::move(done), boost::system::in_place_value);
  });
}

failure cache_core::pin(std::string_view key) {
  auto const full = full_key(key);
  if (full.has_error()) return full.error();
  return near_ ? near_->pin(key) : failure{};
}

void cache_core::unpin(std::string_view key) {
  if (near_) near_->unpin(key);
}

void cache_core::warm_by(key_warmer load) {
  asio::post(get_executor(), [engine = engine_, load = std::move(load)]() mutable {
    auto const rules = engine->hot() ? engine->hot()->rules() : nullptr;
    if (rules) rules->warm_by(std::move(load));
  });
}

void cache_core::submit(caller_ptr caller) { engine_->submit({&caller, 1}); }

void cache_core::submit_all(std::vector<caller_ptr> callers) { engine_->submit(callers); }

std::function<void()> cache_core::canceler(caller_ptr const& caller) const {
  using weak_caller = std::weak_ptr<cache_caller>;
  return [back = engine_->back(), weak = std::weak_ptr(engine_), call = weak_caller(caller)] {
    auto live = call.lock();
    if (!live) return;
    back->post([weak, live = std::move(live)] {
      if (auto const engine = weak.lock()) engine->cancel(*live);
    });
  };
}

void cache_core::put(std::string_view key, result<cache_value> value, handler<void> done) {
  auto full = full_key(key);
  // Without its tags, which are not known yet.
  auto const added = runtime::frame_bytes(form_, engine_->options().format);
  failure why = full.has_error() ? full.error() : runtime::check_storable(value, form_, added);
  if (why.code) return post_result<void>(get_executor(), std::move(done), std::move(why));
  auto const ttl = engine_->ttl_of(*value);
  put_request request{*std::move(full), *std::move(value), ttl};
  asio::post(get_executor(), [engine = engine_, request = std::move(request),
                              done = with_work<void>(get_executor(), std::move(done))]() mutable {
    engine->put(std::move(request), std::move(done));
  });
}

void cache_core::invalidate(std::string_view key, handler<bool> done) {
  end_entry(engine_, &runtime::cache_engine::invalidate, full_key(key), std::move(done));
}

void cache_core::expire(std::string_view key, handler<bool> done) {
  auto full = full_key(key);
  if (full.has_value() && engine_->options().format == cache_format::plain) {
    full = make_failure(errc::not_supported, "cannot expire " + full->str() +
                                                 ": its entry has no times of its own; make the "
                                                 "cache with format = cache_format::framed, or "
                                                 "use invalidate");
  }
  end_entry(engine_, &runtime::cache_engine::expire_entry, std::move(full), std::move(done));
}

void cache_core::end_tag(std::string_view tag, tag_ending how, handler<void> done) {
  auto const executor = get_executor();
  if (engine_->options().format == cache_format::plain) {
    auto why = make_failure(errc::not_supported,
                            "cannot end the tag " + in_quotes(tag) +
                                ": plain entries have no "
                                "tags; make the cache with format = cache_format::framed");
    return post_result<void>(executor, std::move(done), std::move(why));
  }
  asio::post(executor, [engine = engine_, tag = std::string(tag), how,
                        done = with_work<void>(executor, std::move(done))]() mutable {
    engine->freshness()->tags().end(tag, how, std::move(done));
  });
}

void cache_core::run_on(std::weak_ptr<runtime::loader_pool> const& pool,
                        std::function<void()> work) {
  if (auto const open = pool.lock()) open->run(std::move(work));
}

cache_stats cache_core::stats() const { return engine_->stats(); }

failure cache_core::last_store_error() const { return engine_->last_store_error(); }

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
