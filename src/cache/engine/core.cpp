// The handle's half of the cache: checks what comes in, and closes the engine with the last handle.
#include <herdlock/detail/cache_core.hpp>
#include <herdlock/detail/cache_loaders.hpp>

#include "cache/engine/checks.hpp"
#include "cache/engine/engine.hpp"
#include "cache/engine/loader_pool.hpp"
#include "cache/engine/over_locks.hpp"
#include "cache/engine/warming.hpp"
#include "cache/keys/frame.hpp"
#include "runtime/inherited.hpp"
#include "runtime/io_runner.hpp"
#include "runtime/on_own_executor.hpp"
#include "runtime/side_names.hpp"
#include "runtime/store_context.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {
namespace {

using runtime::on_own_executor;

using entry_ending = void (runtime::cache_engine::*)(cache_key key, handler<bool> done);

void end_entry(std::shared_ptr<runtime::cache_engine> engine, entry_ending how,
               result<cache_key> full, handler<bool> done) {
  if (runtime::refused_in_child(engine->home(), done)) return;
  auto const executor = engine->home().executor();
  if (full.has_error()) {
    return post_result<bool>(executor, std::move(done), std::move(full).error());
  }
  asio::post(executor, [engine = std::move(engine), how, key = *std::move(full),
                        done = on_own_executor<bool>(executor, std::move(done))]() mutable {
    ((*engine).*how)(std::move(key), std::move(done));
  });
}

result<runtime::tag_end> end_of_tag(cache_options const& options, std::string_view tag,
                                    tag_ending how) {
  if (options.format == cache_format::plain) {
    return make_failure(errc::not_supported,
                        "cannot end the tag " + in_quotes(tag) +
                            ": plain entries have no "
                            "tags; make the cache with format = cache_format::framed");
  }
  auto record = runtime::users_record_key(options.prefix, tag);
  if (record.has_error()) return std::move(record).error();
  return runtime::tag_end{std::string(tag), *std::move(record), how};
}

result<runtime::tag_end> end_of_all(runtime::cache_home const& of) {
  if (!of.options.tags.clearable) {
    std::string what = "cannot clear the " + of.in_words() +
                       ": its entries do not have the tag by which all of them end; set "
                       "tags.clearable";
    bool const is_plain = of.options.format == cache_format::plain;
    if (is_plain) what += ", and format = cache_format::framed";
    return make_failure(errc::not_supported, std::move(what));
  }
  auto record = runtime::record_key_of_all(of.options.prefix);
  if (record.has_error()) return std::move(record).error();
  return runtime::tag_end{std::string(algo::tag_of_all), *std::move(record),
                          tag_ending::invalidate};
}

void end_by_tag(std::shared_ptr<runtime::cache_engine> engine, result<runtime::tag_end> what,
                handler<void> done) {
  if (runtime::refused_in_child(engine->home(), done)) return;
  auto const executor = engine->home().executor();
  if (what.has_error()) {
    return post_result<void>(executor, std::move(done), std::move(what).error());
  }
  asio::post(executor, [engine = std::move(engine), what = *std::move(what),
                        done = on_own_executor<void>(executor, std::move(done))]() mutable {
    engine->end_tag(what, std::move(done));
  });
}

// A child of fork() leaves to its parent what has threads, claims and connections.
template <class... Parts>
void leave(std::shared_ptr<Parts>... parts) {
  (leave_to_parent(std::move(parts)), ...);
}

void refuse_in_child(runtime::store_core const& home, caller_ptr caller) {
  runtime::run_apart(
      [caller = std::move(caller), why = runtime::why_inherited(home)] { caller->complete(why); });
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

load_outcome failed_outcome(std::exception_ptr const& thrown) {
  load_outcome failed{.answer = {}, .error = exception_text(thrown)};
  try {
    std::rethrow_exception(thrown);
  } catch (stopped_before_it_began const&) {
    failed.begun = false;
  } catch (...) {  // it began
  }
  return failed;
}

bool cache_caller::may_claim(std::function<void()> const&) { return true; }

load_sink::~load_sink() {
  if (!deliver_) return;
  (*this)(load_outcome{
      .answer = {}, .error = "the loader was destroyed before it finished", .unfinished = true});
}

cache_core::cache_core(store values, std::optional<store> locks, cache_options options, layout form,
                       cache_decode decode, std::shared_ptr<owned_load> owned)
    : locks_(std::move(locks)), values_(std::move(values)), form_(form) {
  for (auto const* one : {&values_, locks_ ? &*locks_ : &values_}) {
    failure why = runtime::why_inherited(*context_of(*one)->core());
    if (why.code) throw error(std::move(why));
  }
  auto const near_mode = runtime::check_cache(options, values_, locks_);
  if (options.prefix == no_prefix) options.prefix.clear();
  prefix_ = options.prefix;
  pool_ = std::make_shared<runtime::loader_pool>(options.bounds.max_loads +
                                                 options.bounds.max_loads_without_store);
  auto lock_core = locks_ ? context_of(*locks_)->core() : nullptr;
  engine_ = runtime::cache_engine::make(
      context_of(values_)->core(), std::move(lock_core),
      runtime::engine_settings{std::move(options), form, decode, near_mode, std::move(owned), pool_,
                               context_of(values_)});
  asio::post(get_executor(), [weak = std::weak_ptr(engine_)] {
    auto const engine = weak.lock();
    if (!engine) return;
    if (engine->home().closing()) return engine->on_closing();
    engine->home().tell_when_closing(*engine);
    engine->local().open();
    if (engine->services().owned) runtime::warm_by_rules(engine);
  });
  local_ = std::make_shared<runtime::local_parts>(engine_->local());
  events_ = engine_->common().counters.events;
  if (auto const& over = engine_->services().claims.over_locks()) {
    using contexts = std::pair<std::shared_ptr<store_context>, std::shared_ptr<store_context>>;
    over->keep_open(std::make_shared<contexts>(context_of(values_), context_of(*locks_)));
  }
}

cache_core::~cache_core() {
  if (engine_ && engine_->home().inherited()) {
    leave(std::move(engine_), std::move(local_), std::move(pool_), std::move(events_));
    return;
  }
  if (!engine_) return;
  local_->shut();
  local_ = nullptr;
  auto const& over = engine_->services().claims.over_locks();
  auto const tasks = over ? over->tasks() : nullptr;
  auto closing = tasks ? tasks->begin() : nullptr;
  // The end of the process waits until this candidate has resigned, too.
  auto duty = context_of(values_)->has_own_thread() ? runtime::process_end::shared().duty()
                                                    : std::shared_ptr<void>();
  asio::post(get_executor(), [engine = std::move(engine_), closing = std::move(closing),
                              duty = std::move(duty)]() mutable {
    engine->on_closing();
    engine.reset();  // before the task ends, for which the destructor waits
  });
  // Waiting on a store's own thread would keep the loaders from being told; and on an executor of
  // the user's this may be that thread, or nobody may run it any more.
  bool const may_wait =
      context_of(values_)->may_wait_for_it() && (!locks_ || context_of(*locks_)->may_wait_for_it());
  if (!may_wait) {
    pool_->abandon();
    runtime::end_events(events_, runtime::events_end::is_left);
    return;
  }
  pool_->close();
  runtime::end_events(events_, runtime::events_end::is_waited_for);
  // Claims that are being given back, as store_context does for leases.
  if (tasks) tasks->wait_idle(runtime::close_limit);
}

result<cache_key> cache_core::full_key(std::string_view key) const {
  if (auto const own = cache_key::parse(key); own.has_error()) return own.error();
  bool const framed = engine_->common().options.format == cache_format::framed;
  if (framed && key.starts_with(runtime::tag_record_prefix)) {
    return make_failure(errc::invalid_name,
                        "the key " + in_quotes(key) + " is of the kind that tags have");
  }
  auto full = prefix_ + std::string(key);
  if (context_of(values_)->core()->traits().one_keyspace) {
    if (failure why = runtime::check_no_side_name("the key", full); why.code) return why;
    if (locks_ && key.ends_with(runtime::lock_suffix)) {
      return make_failure(errc::invalid_name, "the key " + in_quotes(full) +
                                                  " is what the lock of another key is called");
    }
  }
  if (locks_) {
    auto const lock = resource::parse(full + std::string(runtime::lock_suffix));
    if (lock.has_error()) return lock.error();
  }
  return cache_key::parse(full);
}

cache_answer cache_core::find_near(std::string_view key, caller_wish wish) const noexcept {
  auto const who = wish == caller_wish::load ? near_look::loader : near_look::any;
  return runtime::answer_of(local_->find(key, who));
}

failure cache_core::check_call(loader_from whose, caller_wish wish, call_options const& how) const {
  auto const& options = engine_->common().options;
  if (how.wait || how.soft_timeout) {
    call_options asked = how;
    if (wish != caller_wish::load) asked.soft_timeout = milliseconds{0};  // it has no use for one
    if (failure why = runtime::check_call_options(options, asked); why.code) return why;
  }
  bool const looks = wish == caller_wish::look || wish == caller_wish::examine;
  if (looks) return {};
  if (wish == caller_wish::load_now && locks_) {
    return make_failure(errc::not_supported,
                        "cannot load now what is there: the claims are in another store than the "
                        "values; invalidate the key, and get_or_load it");
  }
  if (engine_->services().owned) return {};
  constexpr auto way_out = ": give it one, cache(store, options, loader)";
  if (whose == loader_from::cache) {
    return make_failure(
        errc::invalid_value,
        std::string("a call without a loader needs a cache that has one") + way_out);
  }
  auto const own = wish == caller_wish::load ? how.soft_timeout : std::nullopt;
  auto const soft = own.value_or(options.freshness.soft_timeout);
  bool const leaves = soft > milliseconds{0} && soft != wait_forever;
  bool const repeats = options.lasting.refresh_every > milliseconds{0};
  if (!leaves && !repeats) return {};
  char const* needs = "cache option lasting.refresh_every";
  if (leaves) needs = "cache option freshness.soft_timeout";
  if (leaves && own) needs = "call option soft_timeout";
  return make_failure(errc::invalid_value, std::string(needs) +
                                               " needs a cache with a loader of its own, since "
                                               "that of a call runs while the call does" +
                                               way_out);
}

failure cache_core::why_own_key(std::string_view key) const {
  if (!loading_here::includes(identity(), key)) return {};
  return make_failure(errc::load_failed, "the loader of " + in_quotes(key) +
                                             " asks for this very key: it would wait for itself");
}

std::shared_ptr<runtime::posting_gate> cache_core::back() const {
  return engine_->services().where.back;
}

std::vector<hot_key> cache_core::most_read(std::size_t most) const { return local_->top(most); }

hot_keys_stats cache_core::hot_stats() const { return local_->hot_stats(); }

std::vector<fleet_hot_key> cache_core::most_read_by_fleet(std::size_t most) const {
  return local_->fleet_top(most);
}

hot_fleet_stats cache_core::fleet_stats() const { return local_->fleet_stats(); }

void cache_core::fence(handler<void> done) {
  if (runtime::refused_in_child(engine_->home(), done)) return;
  auto const executor = get_executor();
  asio::post(executor, [engine = engine_] { engine->fence(); });
  asio::post(executor, [local = *local_, executor,
                        done = on_own_executor<void>(executor, std::move(done))]() mutable {
    local.fence(executor, std::move(done));
  });
}

void cache_core::drop_kept(handler<void> done) {
  if (runtime::refused_in_child(engine_->home(), done)) return;
  auto const executor = get_executor();
  asio::post(executor, [engine = engine_, executor,
                        done = on_own_executor<void>(executor, std::move(done))]() mutable {
    engine->fence();
    engine->local().drop_all();
    post_result<void>(executor, std::move(done), boost::system::in_place_value);
  });
}

failure cache_core::pin(std::string_view key) {
  if (failure why = runtime::why_inherited(engine_->home()); why.code) return why;
  auto const full = full_key(key);
  if (full.has_error()) return full.error();
  return local_->pin(key);
}

void cache_core::unpin(std::string_view key) { local_->unpin(key); }

void cache_core::submit(caller_ptr caller) {
  if (engine_->home().inherited()) return refuse_in_child(engine_->home(), std::move(caller));
  engine_->submit({&caller, 1});
}

void cache_core::submit_all(std::vector<caller_ptr> callers) {
  if (!engine_->home().inherited()) return engine_->submit(callers);
  for (auto& each : callers) refuse_in_child(engine_->home(), std::move(each));
}

std::function<void()> cache_core::canceler(caller_ptr const& caller) const {
  using weak_caller = std::weak_ptr<cache_caller>;
  return [back = engine_->services().where.back, weak = std::weak_ptr(engine_),
          call = weak_caller(caller)] {
    auto live = call.lock();
    if (!live) return;
    auto cancel = [weak, live = std::move(live)] {
      if (auto const engine = weak.lock()) engine->callers()->cancel(*live);
    };
    back->post(cancel);
  };
}

void cache_core::put(std::string_view key, result<cache_value> value, handler<void> done) {
  if (runtime::refused_in_child(engine_->home(), done)) return;
  auto full = full_key(key);
  // The bytes of the tags are not among these: they are not known yet.
  auto const added = runtime::frame_bytes(form_, engine_->common().options.format);
  failure why = full.has_error() ? full.error() : runtime::check_storable(value, form_, added);
  if (why.code) return post_result<void>(get_executor(), std::move(done), std::move(why));
  auto const ttl = engine_->common().ttl_of(*value);
  put_request request{*std::move(full), *std::move(value), ttl};
  asio::post(get_executor(),
             [engine = engine_, request = std::move(request),
              done = on_own_executor<void>(get_executor(), std::move(done))]() mutable {
               engine->put(std::move(request), std::move(done));
             });
}

void cache_core::invalidate(std::string_view key, handler<bool> done) {
  end_entry(engine_, &runtime::cache_engine::invalidate, full_key(key), std::move(done));
}

void cache_core::expire(std::string_view key, handler<bool> done) {
  auto full = full_key(key);
  if (full.has_value() && engine_->common().options.format == cache_format::plain) {
    full = make_failure(errc::not_supported, "cannot expire " + full->str() +
                                                 ": its entry has no times of its own; make the "
                                                 "cache with format = cache_format::framed, or "
                                                 "use invalidate");
  }
  end_entry(engine_, &runtime::cache_engine::expire, std::move(full), std::move(done));
}

void cache_core::end_tag(std::string_view tag, tag_ending how, handler<void> done) {
  end_by_tag(engine_, end_of_tag(engine_->common().options, tag, how), std::move(done));
}

void cache_core::clear(handler<void> done) {
  end_by_tag(engine_, end_of_all(engine_->common()), std::move(done));
}

void cache_core::run_on(std::weak_ptr<runtime::loader_pool> const& pool,
                        std::function<void()> work) {
  if (auto const open = pool.lock()) open->run(std::move(work));
}

cache_stats cache_core::stats() const { return engine_->common().counters.read(); }

failure cache_core::last_store_error() const { return engine_->common().trouble.latest(); }

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
