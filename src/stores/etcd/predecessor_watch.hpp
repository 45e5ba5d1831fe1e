// What a waiting entry is told of the keys before its own.
// Why: docs/stores/etcd.md#the-second-needs-no-look
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "stores/etcd/owned_key.hpp"
#include "stores/etcd/watch_stream.hpp"

namespace herdlock::etcd {

/// Behind two: the end of the key two before ours, when it is time to get ready. Next after the
/// first: all that is done from its key to ours, so that one watch tells of both, in order. All
/// members are called on the executor.
class predecessor_watch {
 public:
  /// `look` is called when there is news to look after, once until begin_look().
  predecessor_watch(std::shared_ptr<watch_stream> watches, std::string own,
                    std::function<void()> look)
      : watches_(std::move(watches)), own_(std::move(own)), look_(std::move(look)) {}

  /// Follows those who are before us; `self` has this object.
  void follow(found_entries const& found, std::weak_ptr<void> self);
  /// The one two before us has gone: watches the next one.
  void get_ready();
  /// What we wait for is over, as held tells, or is not waited for any more.
  enum class ends { held, left };
  void stop(ends how);
  void close();

  /// The revision of the news that the look, which begins now, is for; 0: there is none.
  std::int64_t begin_look();
  /// A look found what the news tells, and nothing was missed since.
  bool seen(std::int64_t told_at) const {
    return since_ > 0 && seen_at_ >= std::max(since_, told_at);
  }
  bool says_first() const;

 private:
  void watch_over(watched_keys const& what);
  void on_message(watch_message const& news);
  watched_keys from_before_to_own() const;

  std::shared_ptr<watch_stream> const watches_;
  std::string const own_;
  std::function<void()> const look_;
  std::weak_ptr<void> self_;
  bool closed_ = false;
  bool look_wanted_ = false;
  std::int64_t told_at_ = 0;  ///< the revision of the news that is to be looked after

  std::string before_;  ///< the key before ours, when we looked last
  watched_keys watched_;
  watch_stream::watch_id watch_ = 0;
  std::int64_t since_ = 0;    ///< it tells all that came after; raised by a change of our own key
  std::int64_t seen_at_ = 0;  ///< the last look that found our key and the one before it
  bool gone_ = false;         ///< the key that is waited for was deleted
};

}  // namespace herdlock::etcd
