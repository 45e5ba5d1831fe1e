#include "stores/etcd/predecessor_watch.hpp"

#include <algorithm>
#include <utility>

namespace herdlock::etcd {

void predecessor_watch::follow(found_entries const& found, std::weak_ptr<void> self) {
  self_ = std::move(self);
  before_ = found.before.key;
  watch_over(found.two_before.empty() ? from_before_to_own() : watched_keys{found.two_before});
  seen_at_ = found.seen_at;
}

void predecessor_watch::get_ready() {
  if (watched_.is_one() && gone_) watch_over(from_before_to_own());
}

watched_keys predecessor_watch::from_before_to_own() const {
  auto const [first, last] = std::minmax(before_, own_);
  return {first, last};
}

void predecessor_watch::watch_over(watched_keys const& what) {
  if (watch_ != 0 && watched_ == what) return;
  stop(ends::left);
  if (closed_) return;
  watched_ = what;
  watch_ = watches_->add(what, [this, self = self_](watch_message const& news) {
    if (auto const alive = self.lock()) on_message(news);
  });
}

// When ours is held, the one before it has gone, whether that was told or not.
void predecessor_watch::stop(ends how) {
  bool const key_is_gone = watched_.is_one() && (gone_ || how == ends::held);
  auto const rest = key_is_gone ? watch_stream::rest::nothing : watch_stream::rest::events;
  if (watch_ != 0) watches_->remove(std::exchange(watch_, 0), rest);
  watched_ = {};
  since_ = seen_at_ = 0;
  gone_ = false;
}

void predecessor_watch::close() {
  closed_ = true;
  stop(ends::left);
}

void predecessor_watch::on_message(watch_message const& news) {
  bool const begins = news.what == watch_message::kind::created;
  if (begins) {
    if (since_ > 0) seen_at_ = 0;  // it was interrupted
    since_ = news.revision;
    gone_ = false;
  }
  auto const& awaited = watched_.is_one() ? watched_.first : before_;
  bool own = false;
  bool gone = false;
  for (auto const& change : news.changes) {
    own = own || change.key == own_;
    gone = gone || (change.key == awaited && change.what == key_change::kind::deleted);
  }
  if (own) since_ = std::max(since_, news.revision);
  gone_ = gone_ || gone;
  if (!begins && !own && !gone) return;
  told_at_ = std::max(told_at_, news.revision);
  if (!std::exchange(look_wanted_, true)) look_();
}

std::int64_t predecessor_watch::begin_look() {
  look_wanted_ = false;
  return std::exchange(told_at_, 0);
}

// The key before ours was the first, ours was there behind it, and since then nothing was done to
// ours before the other one was deleted.
bool predecessor_watch::says_first() const {
  return watch_ != 0 && !watched_.is_one() && since_ > 0 && seen_at_ >= since_ && gone_;
}

}  // namespace herdlock::etcd
