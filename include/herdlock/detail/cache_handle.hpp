// The base of all calls of cache<T>.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <herdlock/cached.hpp>
#include <herdlock/detail/blocking.hpp>
#include <herdlock/detail/cache_call.hpp>

namespace herdlock {
inline namespace v0 {
namespace detail {

// The answer of a call, made of what the cache has found.

template <class T>
struct load_reply {
  static result<std::optional<T>> from(result<cache_answer> answer) {
    return value_of<T>(std::move(answer));
  }
};

template <class T>
struct shared_load_reply {
  static result<std::shared_ptr<T const>> from(result<cache_answer> answer) {
    if (answer.has_error()) return std::move(answer).error();
    return std::static_pointer_cast<T const>(std::move(answer->object));
  }
};

template <class T>
struct look_reply {
  static result<cached<T>> from(result<cache_answer> answer) {
    if (answer.has_error()) return std::move(answer).error();
    if (answer->kind == entry_kind::miss) return cached<T>();
    if (answer->kind == entry_kind::absent) return cached<T>(absent{});
    return cached<T>(take_value<T>(*answer));
  }
};

template <class T>
struct shared_look_reply {
  static result<cached<std::shared_ptr<T const>>> from(result<cache_answer> answer) {
    using found = cached<std::shared_ptr<T const>>;
    if (answer.has_error()) return std::move(answer).error();
    if (answer->kind == entry_kind::miss) return found();
    if (answer->kind == entry_kind::absent) return found(absent{});
    return found(std::static_pointer_cast<T const>(std::move(answer->object)));
  }
};

template <class T>
struct examined_reply {
  static result<std::optional<looked<T>>> from(result<cache_answer> answer) {
    if (answer.has_error()) return std::move(answer).error();
    std::optional<looked<T>> found;
    if (answer->kind == entry_kind::miss) return found;
    auto& entry = *static_cast<examined_entry*>(answer->object.get());
    found.emplace(looked<T>{entry.times, std::nullopt});
    if (entry.answer.kind == entry_kind::value) found->value.emplace(take_value<T>(entry.answer));
    return found;
  }
};

/// The part that the copies of one cache<T> share. A move is a copy, so no handle is without it.
class cache_handle {
 public:
  cache_handle(cache_handle const&) = default;
  cache_handle& operator=(cache_handle const&) = default;
  ~cache_handle() = default;

  /// The executor of cancellation timers and the like: that of the value store.
  boost::asio::any_io_executor get_executor() const { return core_->get_executor(); }

 protected:
  explicit cache_handle(std::shared_ptr<cache_core> core) : core_(std::move(core)) {}

  // The start takes the handler's own type: a hit costs no type-erased handler of ours.
  template <class Value, class Start, class Token>
  auto initiate(Start start, Token&& token) const {
    return detail::initiate<Value>(get_executor(), std::move(start), std::forward<Token>(token));
  }

  // The same for another signature, whose handler the start is given.
  template <class Signature, class Start, class Token>
  auto initiate_as(Start start, Token&& token) const {
    return detail::initiate_as<Signature>(get_executor(), std::move(start),
                                          std::forward<Token>(token));
  }

  /// Throws herdlock::error when this thread is loading the key already.
  void refuse_own_key(std::string_view key) const {
    if (failure why = core_->why_own_key(key); why.code) throw error(std::move(why));
  }

  /// The blocking call of who brings no loader.
  template <class Value, class Reply, class Loader>
  Value wait_for(asked_key what, Loader loader) const {
    auto start = [&](auto done) {
      detail::start_call<Reply, decltype(done)>(*core_, what, std::move(done), std::move(loader));
    };
    return detail::wait_for<Value>(core_->context(), start).value();
  }

  /// The blocking call of who does: the loader runs in here.
  template <class T, class Codec, class Value, class Reply, caller_wish Wish = caller_wish::load,
            class Loader>
  Value load_here(asked_key what, Loader& loader) const {
    auto start = [&](auto done, std::shared_ptr<calling_thread> here) {
      using call_loader = detail::blocking_loader<T, Codec, Loader, Wish>;
      detail::start_call<Reply, decltype(done)>(
          *core_, what, std::move(done), call_loader{&loader, std::move(here), core_->identity()});
    };
    refuse_own_key(what.key);
    auto const keep = core_;  // the loader may destroy this handle
    return detail::wait_for_load<Value>(keep->context(), start).value();
  }

  std::shared_ptr<cache_core> core_;
};

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
