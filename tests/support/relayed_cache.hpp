// A cache whose own loader calls, for each key, the loader that the last call of it has named. So a
// test can say in one line what is loaded, also behind an answer.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <herdlock/cache.hpp>

namespace herdlock_test {

using of_text = herdlock::load_context_of<std::string>;

/// Whether loads of such a cache are to run behind answers.
inline bool loads_behind_answers(herdlock::cache_options const& options) {
  using herdlock::milliseconds;
  return options.early_refresh > 0 || options.freshness.grace > milliseconds{0} ||
         options.lasting.refresh_every > milliseconds{0};
}

template <class Function>
class loaders_by_key {
 public:
  void set(std::string_view key, Function load) {
    std::lock_guard const lock(mutex_);
    all_.insert_or_assign(std::string(key), std::move(load));
  }
  Function of(std::string_view key) const {
    std::lock_guard const lock(mutex_);
    auto const found = all_.find(key);
    return found == all_.end() ? Function() : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Function, std::less<>> all_;
};

/// Blocking loaders.
class relayed_cache : public herdlock::cache<std::string> {
  using text = std::optional<std::string>;
  using loaders = loaders_by_key<std::function<text(of_text&)>>;

 public:
  relayed_cache(herdlock::store values, herdlock::cache_options options)
      : relayed_cache(std::move(values), std::move(options), std::make_shared<loaders>()) {}

  template <class Loader>
  text get_or_load(std::string_view key, Loader loader) const {
    loaders_->set(key, [loader = std::move(loader)](of_text& of) mutable -> text {
      return herdlock::detail::call_loader(loader, of);
    });
    return herdlock::cache<std::string>::get_or_load(key);
  }

 private:
  relayed_cache(herdlock::store values, herdlock::cache_options options,
                std::shared_ptr<loaders> by_key)
      : herdlock::cache<std::string>(
            std::move(values), std::move(options),
            [by_key](of_text& of) { return by_key->of(of.key().str())(of); }),
        loaders_(std::move(by_key)) {}

  std::shared_ptr<loaders> loaders_;
};

/// Coroutine loaders on one executor; those of the calls, where nothing is to be loaded behind an
/// answer.
class relayed_coroutines : public herdlock::cache<std::string> {
  using base = herdlock::cache<std::string>;
  using loaded = boost::asio::awaitable<std::optional<std::string>>;
  using loaders = loaders_by_key<std::function<loaded(of_text&)>>;

 public:
  relayed_coroutines(herdlock::store values, herdlock::cache_options options)
      : relayed_coroutines(std::move(values), std::move(options), std::make_shared<loaders>()) {}

  /// With a blocking loader of its own; that of a call is the call's.
  template <class Loader>
  requires herdlock::detail::blocking_loader_of<Loader, std::string> relayed_coroutines(
      herdlock::store values, herdlock::cache_options options, Loader loader)
      : base(std::move(values), std::move(options), std::move(loader)), is_owned_(false) {}

  relayed_coroutines(herdlock::store values, herdlock::store locks,
                     herdlock::cache_options options = {})
      : base(std::move(values), std::move(locks), std::move(options)), is_owned_(false) {}

  template <class Loader>
  auto async_get_or_load(std::string_view key, Loader loader) const {
    return base::async_get_or_load(key, std::move(loader));
  }
  template <class Loader, class Token>
  auto async_get_or_load(std::string_view key, Loader loader, Token&& token) const {
    if (!is_owned_) {
      return base::async_get_or_load(key, std::move(loader), std::forward<Token>(token));
    }
    loaders_->set(key, [loader = std::move(loader)](of_text& of) mutable -> loaded {
      return herdlock::detail::call_loader(loader, of);
    });
    return base::async_get_or_load(key, std::forward<Token>(token));
  }

 private:
  relayed_coroutines(herdlock::store values, herdlock::cache_options options,
                     std::shared_ptr<loaders> by_key)
      : base(make(std::move(values), options, by_key)),
        is_owned_(loads_behind_answers(options)),
        loaders_(std::move(by_key)) {}

  static base make(herdlock::store values, herdlock::cache_options const& options,
                   std::shared_ptr<loaders> by_key) {
    if (!loads_behind_answers(options)) return base(std::move(values), options);
    auto const executor = values.get_executor();
    auto relay = [by_key](of_text of) -> loaded {
      auto load = by_key->of(of.key().str());  // as long as it runs
      auto running = load(of);
      co_return co_await std::move(running);
    };
    return base(std::move(values), options, herdlock::owned_loader(executor, std::move(relay)));
  }

  bool is_owned_;
  std::shared_ptr<loaders> loaders_;
};

}  // namespace herdlock_test
