// The template half of one call for many keys: a cache_part for each of them, and one loader for
// those of them that have to be loaded.
#pragma once

#include <string>
#include <vector>

#include <herdlock/detail/cache_call.hpp>

namespace herdlock {
inline namespace v0 {
namespace detail {

/// What get_many_or_load answers: for each key, in the order of the keys.
template <class T>
using many_values = std::vector<result<std::optional<T>>>;

/// Collects the loads of one call for many keys, so that they run as one. All members on the
/// store's executor.
class load_gathering : public std::enable_shared_from_this<load_gathering> {
 public:
  struct wanted {
    load_context context;
    load_sink sink;
  };

  load_gathering(boost::asio::any_io_executor executor, std::size_t keys)
      : executor_(std::move(executor)), undecided_(keys) {}
  virtual ~load_gathering() = default;

  /// The key is to be loaded.
  void add(load_context context, load_sink sink);
  /// It is known whether the key is loaded now. Once for each key.
  void decided();

 protected:
  /// Runs the loader. Must not throw.
  virtual void load(std::vector<wanted> loads) = 0;

 private:
  void load_soon();

  boost::asio::any_io_executor executor_;
  std::size_t undecided_;
  bool posted_ = false;
  std::vector<wanted> wanted_;
};

/// Where the answers of one call for many keys come together. All members on the store's executor.
class answer_gathering {
 public:
  virtual ~answer_gathering() = default;
  virtual void answer(std::size_t at, result<cache_answer> what) = 0;
};

/// One key of a call for many.
class cache_part final : public cache_caller {
 public:
  struct part_of_call {
    std::shared_ptr<answer_gathering> answers;
    std::shared_ptr<load_gathering> loads;
    std::size_t at;
  };
  cache_part(cache_key full_key, part_of_call part)
      : cache_caller(std::move(full_key), caller_wish::load), part_(std::move(part)) {}

  void complete(result<cache_answer> answer) override;
  void start_load(load_context context, load_sink sink) override;
  void drop_loader() override;
  void load_decided() override;

 private:
  part_of_call part_;
  bool decided_ = false;
};

// ------------------------------------------------------------- what a loader gives for one key

template <class T, class Codec>
load_outcome given_outcome(std::optional<T> value) {
  return loaded_outcome<T, Codec>(std::move(value));
}

template <class T, class Codec, class Value>
load_outcome given_outcome(result<Value> given) {
  if (given.has_error()) return {.answer = {}, .error = std::move(given).error().message};
  return given_outcome<T, Codec>(std::optional<T>(*std::move(given)));
}

/// The keys of one run of a loader, and where their outcomes go. Whoever has none by the end of
/// this is told that the load was unfinished.
struct many_loads {
  std::vector<std::string> keys;
  std::vector<load_sink> sinks;

  explicit many_loads(std::vector<load_gathering::wanted> loads) {
    for (auto& one : loads) {
      keys.push_back(one.context.key.str());
      sinks.push_back(std::move(one.sink));
    }
  }
  template <class T, class Codec, class Values>
  void deliver(Values values) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      auto const found = values.find(keys[i]);
      sinks[i](found == values.end() ? loaded_outcome<T, Codec>(std::nullopt)
                                     : given_outcome<T, Codec>(std::move(found->second)));
    }
  }
  /// For those that have nothing yet.
  void fail(std::exception_ptr const& thrown) {
    for (auto& sink : sinks) sink(failed_outcome(thrown));
  }
};

using key_list = std::vector<std::string>;

template <class Loader>
concept loads_many = std::invocable<Loader&, key_list const&>;

template <class Loader>
using many_loaded_by = std::invoke_result_t<Loader&, key_list const&>;

/// A map from key to T, std::optional<T>, or a result of one of them.
template <class Values, class T>
concept values_by_key = requires(Values& values, std::string const& key) {
  { values.find(key) == values.end() } -> std::convertible_to<bool>;
  given_outcome<T, codec<T>>(std::move(values.find(key)->second));
};

template <class Awaitable>
struct awaited {};
template <class Values>
struct awaited<boost::asio::awaitable<Values>> {
  using type = Values;
};

template <class Loader, class T>
concept blocking_many_loader_of = loads_many<Loader> && values_by_key<many_loaded_by<Loader>, T>;

template <class Loader, class T>
concept coroutine_many_loader_of =
    loads_many<Loader> && values_by_key<typename awaited<many_loaded_by<Loader>>::type, T>;

template <class T, class Codec, class Loader>
class blocking_many final : public load_gathering {
 public:
  blocking_many(cache_core const& core, std::size_t keys, Loader loader)
      : load_gathering(core.get_executor(), keys), loader_(std::move(loader)), pool_(core.pool()) {}

 private:
  void load(std::vector<wanted> wanted_now) override {
    auto loads = std::make_shared<many_loads>(std::move(wanted_now));
    auto work = [keep = shared_from_this(), this, loads] {
      try {
        loads->template deliver<T, Codec>(loader_(std::as_const(loads->keys)));
      } catch (...) {
        loads->fail(std::current_exception());
      }
    };
    cache_core::run_on(pool_, std::move(work));
  }

  Loader loader_;
  std::weak_ptr<runtime::loader_pool> pool_;
};

template <class T, class Codec, class Loader>
class coroutine_many final : public load_gathering {
 public:
  coroutine_many(cache_core const& core, std::size_t keys, Loader loader,
                 boost::asio::any_io_executor where)
      : load_gathering(core.get_executor(), keys),
        loader_(std::move(loader)),
        where_(std::move(where)) {}

 private:
  using values = typename awaited<many_loaded_by<Loader>>::type;

  struct run {
    std::shared_ptr<load_gathering> keep;
    Loader* loader;
    std::shared_ptr<many_loads> loads;
    boost::asio::awaitable<values> operator()() { return (*loader)(std::as_const(loads->keys)); }
  };
  struct done {
    std::shared_ptr<load_gathering> keep;
    std::shared_ptr<many_loads> loads;
    void operator()(std::exception_ptr thrown, values loaded) {
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

  void load(std::vector<wanted> wanted_now) override {
    auto loads = std::make_shared<many_loads>(std::move(wanted_now));
    run body{shared_from_this(), &loader_, loads};
    done end{shared_from_this(), std::move(loads)};
    boost::asio::co_spawn(where_, std::move(body), std::move(end));
  }

  Loader loader_;
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
    values_[at] = value_of<T>(std::move(what));
    if (--left_ == 0) complete();
  }
  /// In an event of its own.
  void complete() {
    auto const work = *std::exchange(work_, std::nullopt);
    completion last{std::move(*handler_), std::move(values_)};
    handler_.reset();
    boost::asio::post(work.get_executor(), std::move(last));
  }

 private:
  struct completion {
    Handler h;
    many_values<T> values;
    void operator()() { std::move(h)(result<many_values<T>>(std::move(values))); }
  };
  using executor_type = boost::asio::associated_executor_t<Handler, boost::asio::any_io_executor>;

  std::optional<boost::asio::executor_work_guard<executor_type>> work_;
  std::optional<Handler> handler_;
  many_values<T> values_;
  std::size_t left_;
};

/// `make_loads` gets the number of keys that can be asked for.
template <class T, class Handler, class MakeLoads>
void start_many(cache_core& core, std::vector<std::string> const& keys, Handler h,
                MakeLoads&& make_loads) {
  auto slot = boost::asio::get_associated_cancellation_slot(h);
  auto const answers =
      std::make_shared<many_answers<T, Handler>>(std::move(h), keys.size(), core.get_executor());
  if (keys.empty()) return answers->complete();
  std::vector<result<cache_key>> full;
  std::size_t valid = 0;
  for (auto const& key : keys) {
    full.push_back(core.full_key(key));
    if (full.back().has_value()) ++valid;
  }
  std::shared_ptr<load_gathering> loads = make_loads(valid);
  std::vector<caller_ptr> parts;
  std::vector<std::function<void()>> cancels;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (full[i].has_error()) continue;
    parts.push_back(std::make_shared<cache_part>(*std::move(full[i]),
                                                 cache_part::part_of_call{answers, loads, i}));
    if (slot.is_connected()) cancels.push_back(core.canceler(parts.back()));
  }
  // Before anything can be answered on another thread.
  for (std::size_t i = 0; i < keys.size(); ++i) {
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
