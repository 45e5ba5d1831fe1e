// The calls of cache<T> that end all entries with a tag: see cache_options::tags.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <herdlock/detail/cache_handle.hpp>

namespace herdlock {
inline namespace v0 {

/// A part of cache<T>.
///
/// A tag is a name, as a key is; with the prefix of the cache and 13 bytes more it fits into
/// limits::max_name_bytes. Each call is one command, however many entries have the tag:
/// `void(failure)`, with errc::invalid_name for what is no tag, and errc::not_supported for plain
/// entries. Change the database first, and end the tag then. Loads that run with the tag in this
/// process are void; one that runs in another stores what is ended already. Other processes may
/// answer with what has been ended for tag_options::max_age more, or until they call fence().
/// Cancellation as for cache::async_put.
class cache_tag_calls : public detail::cache_handle {
 public:
  /// No entry with the tag that was loaded or put before is an answer any more.
  template <class Token = boost::asio::deferred_t>
  auto async_invalidate_tag(std::string_view tag, Token&& token = {}) const {
    return end(tag, detail::tag_ending::invalidate, std::forward<Token>(token));
  }

  /// The tag's entries are stale, as async_expire makes one: with a grace they answer while they
  /// are loaded anew, until they end by themselves. Without one they are gone.
  template <class Token = boost::asio::deferred_t>
  auto async_expire_tag(std::string_view tag, Token&& token = {}) const {
    return end(tag, detail::tag_ending::expire, std::forward<Token>(token));
  }

  void invalidate_tag(std::string_view tag) const { end(tag, detail::tag_ending::invalidate); }
  void expire_tag(std::string_view tag) const { end(tag, detail::tag_ending::expire); }

 protected:
  using cache_handle::cache_handle;

 private:
  template <class Token>
  auto end(std::string_view tag, detail::tag_ending how, Token&& token) const {
    return detail::initiate<void>(
        get_executor(),
        [core = core_, tag = std::string(tag), how](handler<void> h) {
          core->end_tag(tag, how, std::move(h));
        },
        std::forward<Token>(token));
  }

  void end(std::string_view tag, detail::tag_ending how) const {
    auto start = [&](handler<void> h) { core_->end_tag(tag, how, std::move(h)); };
    detail::wait_for<void>(core_->context(), start).value();
  }
};

}  // namespace v0
}  // namespace herdlock
