// Loaders that a cache owns: for one key or for many, that block or are coroutines.
#pragma once

#include <herdlock/detail/boost_version.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <herdlock/detail/cache_many.hpp>

namespace herdlock {
inline namespace v0 {

/// A coroutine loader that a cache owns, and the executor on which it runs. See owned_loader().
template <class Loader>
struct owned_coroutine {
  boost::asio::any_io_executor executor;
  Loader loader;
};

/// For the constructor of cache<T>: `loader` is called with a load_context, or with nothing, and
/// returns a boost::asio::awaitable<std::optional<T>>; or it loads many keys, as that of
/// async_get_many_or_load. It runs on this executor, which must live as
/// long as the last load. (A loader that blocks is given to the constructor as it is.)
template <class Executor, class Loader>
owned_coroutine<std::decay_t<Loader>> owned_loader(Executor const& executor, Loader&& loader) {
  return {boost::asio::any_io_executor(executor), std::forward<Loader>(loader)};
}

namespace detail {

template <class Loader>
struct coroutine_of {
  using type = void;
};
template <class Loader>
struct coroutine_of<owned_coroutine<Loader>> {
  using type = Loader;
};

template <class Loader, class T>
concept owned_for_one =
    blocking_loader_of<Loader, T> || coroutine_loader_of<typename coroutine_of<Loader>::type, T>;
template <class Loader, class T>
concept owned_for_many = blocking_many_loader_of<Loader, T> ||
    coroutine_many_loader_of<typename coroutine_of<Loader>::type, T>;

template <class Loader, class T>
concept owned_loader_of = owned_for_one<Loader, T> || owned_for_many<Loader, T>;

/// Nothing, or why it cannot run.
template <class Work>
std::optional<load_outcome> run_in_pool(home_of_loads const& home, Work work) {
  try {
    cache_core::run_on(home.pool, std::move(work));
    return std::nullopt;
  } catch (std::exception const& e) {
    return load_outcome{.answer = {},
                        .error = std::string("no thread for the loader: ") + e.what(),
                        .unfinished = true};
  }
}

template <class T, class Codec, class Loader>
class owned_blocking final : public owned_load {
 public:
  explicit owned_blocking(Loader loader) : loader_(std::make_shared<Loader>(std::move(loader))) {}

  void start(load_context context, load_sink sink, home_of_loads const& home) override {
    auto held = std::make_shared<load_sink>(std::move(sink));
    auto work = [loader = loader_, cache = home.pool.lock().get(), context = std::move(context),
                 held] {
      loading_here const here(cache, context.key().str());
      load_one_here<T, Codec>(*loader, context, *held);
    };
    auto const why = run_in_pool(home, std::move(work));
    if (why) (*held)(*why);
  }

 private:
  std::shared_ptr<Loader> loader_;
};

template <class T, class Codec, class Loader>
class owned_by_executor final : public owned_load {
 public:
  explicit owned_by_executor(owned_coroutine<Loader> given)
      : executor_(std::move(given.executor)),
        loader_(std::make_shared<Loader>(std::move(given.loader))) {}

  void start(load_context context, load_sink sink, home_of_loads const&) override {
    load_by_coroutine<T, Codec>(executor_, std::shared_ptr<void>(loader_), *loader_, context,
                                std::move(sink));
  }

 private:
  boost::asio::any_io_executor executor_;
  std::shared_ptr<Loader> loader_;
};

/// Called in the cache's pool.
template <class T, class Codec, class Loader>
class owned_blocking_run final : public load_gathering {
 public:
  owned_blocking_run(home_of_loads const& home, std::shared_ptr<Loader> loader)
      : load_gathering(home.back, 0), home_(home), loader_(std::move(loader)) {}

 private:
  bool load(std::shared_ptr<load_run> run) override {
    auto const why = run_in_pool(home_, [loader = loader_, pool = home_.pool, run] {
      load_many_here<T, Codec>(*loader, pool.lock().get(), *run);
    });
    if (why) run->end(*why);
    return true;
  }

  home_of_loads home_;
  std::shared_ptr<Loader> loader_;
};

/// On an executor.
template <class T, class Codec, class Loader>
class owned_coroutine_run final : public load_gathering {
 public:
  owned_coroutine_run(home_of_loads const& home, std::shared_ptr<owned_coroutine<Loader>> given)
      : load_gathering(home.back, 0), given_(std::move(given)) {}

 private:
  bool load(std::shared_ptr<load_run> run) override {
    load_many_by_coroutine<T, Codec>(given_->executor, std::shared_ptr<void>(given_),
                                     given_->loader, std::move(run));
    return true;
  }

  std::shared_ptr<owned_coroutine<Loader>> given_;
};

/// Gathers the keys that are wanted at one moment: one run of the loader loads them.
template <class Run, class Given>
class owned_many final : public owned_load {
 public:
  explicit owned_many(Given given) : given_(std::make_shared<Given>(std::move(given))) {}

  void start(load_context context, load_sink sink, home_of_loads const& home) override {
    if (!next_ || next_->running()) next_ = std::make_shared<Run>(home, given_);
    next_->add(std::move(context), std::move(sink));
  }

 private:
  std::shared_ptr<Given> given_;
  std::shared_ptr<load_gathering> next_;
};

template <class T, class Codec, class Loader>
std::shared_ptr<owned_load> own(Loader loader) {
  if constexpr (owned_for_one<Loader, T>) {
    return std::make_shared<owned_blocking<T, Codec, Loader>>(std::move(loader));
  } else {
    using run = owned_blocking_run<T, Codec, Loader>;
    return std::make_shared<owned_many<run, Loader>>(std::move(loader));
  }
}
template <class T, class Codec, class Loader>
std::shared_ptr<owned_load> own(owned_coroutine<Loader> loader) {
  if constexpr (owned_for_one<owned_coroutine<Loader>, T>) {
    return std::make_shared<owned_by_executor<T, Codec, Loader>>(std::move(loader));
  } else {
    using run = owned_coroutine_run<T, Codec, Loader>;
    return std::make_shared<owned_many<run, owned_coroutine<Loader>>>(std::move(loader));
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
