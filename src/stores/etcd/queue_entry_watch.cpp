// An entry among the others: what it watches, and what it is told.
#include <algorithm>

#include "stores/etcd/queue_entry.hpp"

namespace herdlock::etcd {

// When ours is held, the one before it has gone, whether that was told or not.
void queue_entry::stop_watching() {
  bool const key_is_gone = watched_.is_one() && (gone_ || state_ == state::held);
  auto const rest = key_is_gone ? watch_stream::rest::nothing : watch_stream::rest::events;
  if (watch_ != 0) store_.watches->remove(std::exchange(watch_, 0), rest);
  watched_ = {};
  since_ = seen_at_ = 0;
  gone_ = false;
}

void queue_entry::queue_behind(found_entries const& found) {
  state_ = state::queued;
  created_ = found.own.create_revision;
  modified_ = found.own.mod_revision;
  before_ = found.before.key;
  watch_over(found.two_before.empty() ? from_before_to_own() : watched_keys{found.two_before});
  seen_at_ = found.seen_at;
}

watched_keys queue_entry::from_before_to_own() const {
  auto const [first, last] = std::minmax(before_, key_);
  return {first, last};
}

// With another lease, the key goes on with another handle of the owner, which may end it.
void queue_entry::stay_behind(range_reply const& found) {
  auto const& all = found.entries;
  queue_behind({all[0], all[1], all.size() > 2 ? all[2].key : std::string(),
                all[0].lease == lease_ ? found.revision : 0});
}

void queue_entry::watch_over(watched_keys const& what) {
  if (watch_ != 0 && watched_ == what) return;
  stop_watching();
  if (closed_) return;
  watched_ = what;
  watch_ = store_.watches->add(what, [weak = weak_from_this()](watch_message const& news) {
    if (auto const self = weak.lock()) self->on_news(news);
  });
}

void queue_entry::on_news(watch_message const& news) {
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
    own = own || change.key == key_;
    gone = gone || (change.key == awaited && change.what == key_change::kind::deleted);
  }
  if (own) since_ = std::max(since_, news.revision);
  gone_ = gone_ || gone;
  if (begins || own || gone) look_after(news.revision);
}

void queue_entry::look_after(std::int64_t revision) {
  told_at_ = std::max(told_at_, revision);
  if (std::exchange(look_wanted_, true)) return;
  add([this] { return look(); });
}

// The key before ours was the first, ours was there behind it, and since then nothing was done to
// ours before the other one was deleted. Whoever was stopped for long must look: its lease may have
// ended after the news.
bool queue_entry::first_by_news(clock::time_point now) const {
  bool const told_of_both = watch_ != 0 && !watched_.is_one() && since_ > 0 && seen_at_ >= since_;
  bool const lives = alive_until_ - now > std::chrono::seconds(lease_ttl_) / 2;
  return told_of_both && gone_ && lives && !adopted_;
}

}  // namespace herdlock::etcd
