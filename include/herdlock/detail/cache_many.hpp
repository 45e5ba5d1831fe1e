// The template half of one call for many keys: a cache_part for each of them, and one loader for
// those of them that have to be loaded.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <herdlock/detail/cache_gathering.hpp>

namespace herdlock {
inline namespace v0 {
namespace detail {

/// The answer of get_many_or_load: for each key, in the order of the keys.
template <class T>
using many_values = std::vector<result<std::optional<T>>>;

/// The contexts of the loads of one run.
template <class T>
using load_contexts = std::vector<load_context_of<T>>;

template <class Loader, class Loads>
concept heeds_stop = std::invocable<Loader&, Loads&, std::stop_token>;

template <class Loader>
concept takes_keys = heeds_stop<Loader, key_list const> || std::invocable<Loader&, key_list const&>;

/// In the second place: a generic lambda that takes keys is not even tried with contexts.
template <class Loader, class T>
concept takes_contexts = heeds_stop<Loader, load_contexts<T>> || std::invocable < Loader&,
        load_contexts<T>
& > ;

template <class Loader, class T>
concept loads_many = takes_keys<Loader> || takes_contexts<Loader, T>;

template <class Loader, class Loads>
decltype(auto) call_with_stop(Loader& loader, Loads& loads, [[maybe_unused]] std::stop_token stop) {
  if constexpr (heeds_stop<Loader, Loads>) {
    return loader(loads, std::move(stop));
  } else {
    return loader(loads);
  }
}

/// The result of a loader that is called with the keys or with the contexts of the loads, and with
/// a stop token besides if it takes one.
template <class T, class Loader>
decltype(auto) call_many_loader(Loader& loader, key_list const& keys,
                                [[maybe_unused]] load_contexts<T>& contexts, std::stop_token stop) {
  if constexpr (takes_keys<Loader>) {
    return call_with_stop(loader, keys, std::move(stop));
  } else {
    return call_with_stop(loader, contexts, std::move(stop));
  }
}

template <class Loader, class T>
using many_loaded_by = decltype(call_many_loader<T>(
    std::declval<Loader&>(), std::declval<key_list const&>(), std::declval<load_contexts<T>&>(),
    std::declval<std::stop_token>()));

/// A map from key to T, std::optional<T>, or a result of one of them.
template <class Values, class T>
concept values_by_key = requires(Values& values, std::string const& key) {
  { values.find(key) == values.end() } -> std::convertible_to<bool>;
  given_outcome<T, codec<T>>(std::move(values.find(key)->second));
};

template <class Loader, class T>
concept is_coroutine_many_loader = loads_many<Loader, T> && requires {
  typename awaited<many_loaded_by<Loader, T>>::type;
};

template <class Loader, class T>
concept blocking_many_loader_of =
    loads_many<Loader, T> && values_by_key<many_loaded_by<Loader, T>, T>;

template <class Loader, class T>
concept coroutine_many_loader_of =
    loads_many<Loader, T> && values_by_key<typename awaited<many_loaded_by<Loader, T>>::type, T>;

/// A run of a loader that blocks, on this thread.
template <class T, class Codec, class Loader>
void load_many_here(Loader& loader, void const* cache, load_run& run) {
  loading_these const here(cache, run.keys());
  auto contexts = run.template contexts<T>();
  try {
    run.template deliver<T, Codec>(call_many_loader<T>(loader, run.keys(), contexts, run.stop()));
  } catch (...) {
    auto const thrown = std::current_exception();
    if (!thrown) {  // the thread is being unwound
      run.end(ended_its_thread());
      throw;
    }
    run.fail(thrown);
  }
}

/// A run of a coroutine, which may be a lambda: `keep` has it.
template <class T, class Codec, class Keeper, class Loader>
void load_many_by_coroutine(boost::asio::any_io_executor const& executor,
                            std::shared_ptr<Keeper> keep, Loader& loader,
                            std::shared_ptr<load_run> run) {
  using values = typename awaited<many_loaded_by<Loader, T>>::type;
  struct body {
    std::shared_ptr<Keeper> keep;
    Loader* loader;
    std::shared_ptr<load_run> loads;
    load_contexts<T> contexts;
    boost::asio::awaitable<values> operator()() {
      if (loads->stop().stop_requested()) throw stopped_before_it_began();
      return call_many_loader<T>(*loader, loads->keys(), contexts, loads->stop());
    }
  };
  struct end {
    std::shared_ptr<load_run> loads;  // destroyed behind the keeper
    loader_keeper<Keeper> keep;
    void operator()(std::exception_ptr thrown, values loaded) {
      keep.ended();
      if (!thrown) {
        try {
          return loads->template deliver<T, Codec>(std::move(loaded));
        } catch (...) {
          thrown = std::current_exception();
        }
      }
      loads->fail(thrown);
    }
  };
  auto const stop = run->stop();
  start_coroutine(executor, stop, body{keep, &loader, run, run->template contexts<T>()},
                  end{run, loader_keeper<Keeper>(keep)});
}

/// On the thread that waits for the call.
template <class T, class Codec, class Loader>
class blocking_many final : public load_gathering {
 public:
  blocking_many(cache_core const& core, std::size_t keys, Loader& loader,
                std::shared_ptr<calling_thread> thread)
      : load_gathering(core.back(), keys),
        loader_(&loader),
        thread_(std::move(thread)),
        cache_(core.identity()) {}

 private:
  bool load(std::shared_ptr<load_run> run) override {
    return thread_->run([loader = loader_, cache = cache_, run = std::move(run)] {
      load_many_here<T, Codec>(*loader, cache, *run);
    });
  }

  Loader* loader_;
  std::shared_ptr<calling_thread> thread_;
  void const* cache_;
};

/// On the executor of the handler.
template <class T, class Codec, class Loader>
class coroutine_many final : public load_gathering {
 public:
  coroutine_many(cache_core const& core, std::size_t keys, Loader loader,
                 boost::asio::any_io_executor where)
      : load_gathering(core.back(), keys), loader_(std::move(loader)), where_(std::move(where)) {}

 private:
  bool load(std::shared_ptr<load_run> run) override {
    load_many_by_coroutine<T, Codec>(where_, shared_from_this(), *loader_, std::move(run));
    return true;
  }
  // The loader that was given goes before the call is answered.
  void drop_loader() override { loader_.reset(); }

  std::optional<Loader> loader_;
  boost::asio::any_io_executor where_;
};

// ------------------------------------------------------------------------------------- the call

template <class T, class Handler>
class many_answers final : public answer_gathering {
 public:
  many_answers(Handler h, std::size_t keys, boost::asio::any_io_executor const& fallback)
      : work_(boost::asio::get_associated_executor(h, fallback)),
        handler_(std::move(h)),
        values_(keys, std::optional<T>()),
        left_(keys) {}

  void answer(std::size_t at, result<cache_answer> what) override {
    try {
      values_[at] = value_of<T>(std::move(what));
    } catch (...) {
      values_[at] = copy_failure();
    }
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) complete();
  }
  void abandon() override {
    handler_.reset();
    work_.reset();
  }
  /// Called in an event of its own.
  void complete() {
    if (!handler_) return;
    auto const work = *std::exchange(work_, std::nullopt);
    completion last{std::move(*handler_), std::move(values_)};
    handler_.reset();
    boost::asio::post(work.get_executor(), std::move(last));
  }

 private:
  struct completion {
    Handler h;
    many_values<T> values;
    void operator()() { std::move(h)(std::move(values)); }
  };
  using executor_type = boost::asio::associated_executor_t<Handler, boost::asio::any_io_executor>;

  std::optional<boost::asio::executor_work_guard<executor_type>> work_;
  std::optional<Handler> handler_;
  many_values<T> values_;
  std::atomic<std::size_t> left_;
};

/// The answer to a blocking call: an error of the call as a whole is that of each key.
template <class T>
many_values<T> for_each_key(std::size_t keys, result<many_values<T>> answered) {
  if (answered.has_value()) return *std::move(answered);
  return many_values<T>(keys, result<std::optional<T>>(std::move(answered).error()));
}

/// `make_loads` gets the number of keys that can be asked for; null for the cache's own loader.
template <class T, class Handler, class MakeLoads>
void start_many(cache_core& core, asked_keys what, Handler h, MakeLoads&& make_loads) {
  auto& full = what.full;
  auto slot = boost::asio::get_associated_cancellation_slot(h);
  auto const answers =
      std::make_shared<many_answers<T, Handler>>(std::move(h), full.size(), core.get_executor());
  if (full.empty()) return answers->complete();
  std::size_t valid = 0;
  for (auto const& key : full) valid += key.has_value() ? 1 : 0;
  std::shared_ptr<load_gathering> loads;
  if constexpr (!std::same_as<std::decay_t<MakeLoads>, std::nullptr_t>) {
    loads = make_loads(valid);
    loads->answered_by(answers);
  }
  std::vector<caller_ptr> parts;
  std::vector<std::function<void()>> cancels;
  for (std::size_t i = 0; i < full.size(); ++i) {
    if (full[i].has_error()) continue;
    parts.push_back(std::make_shared<cache_part>(*std::move(full[i]),
                                                 cache_part::part_of_call{answers, loads, i}));
    parts.back()->how = what.how;
    if (slot.is_connected()) cancels.push_back(core.canceler(parts.back()));
  }
  // Before anything can be answered on another thread.
  for (std::size_t i = 0; i < full.size(); ++i) {
    if (full[i].has_error()) answers->answer(i, std::move(full[i]).error());
  }
  if (slot.is_connected() && !parts.empty()) {
    slot.assign([cancels = std::move(cancels)](boost::asio::cancellation_type) {
      for (auto const& cancel : cancels) cancel();
    });
  }
  core.submit_all(std::move(parts));
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
