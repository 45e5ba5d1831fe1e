// A place among the others: what it watches, what it is told, whom it hands over to.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "stores/etcd/place.hpp"
#include "stores/etcd/quietly.hpp"

namespace herdlock::etcd {
namespace {

constexpr milliseconds ready_per_place{25};
constexpr milliseconds ready_at_last{200};
constexpr milliseconds patience_with_news{2};
constexpr milliseconds patience_with_search{5};
constexpr milliseconds longest_search{1000};  // it keeps a store that is closed for so long at most

}  // namespace

// ------------------------------------------------------------------------------- watching

// When ours is held, the one before it has gone, whether that was told or not.
void place::stop_watching_before() {
  bool const key_is_gone = watched_.is_one() && (gone_at_ > 0 || state_ == state::held);
  auto const rest = key_is_gone ? watch_hub::rest::nothing : watch_hub::rest::events;
  if (watch_ != 0) around_.hub->remove(std::exchange(watch_, 0), rest);
  watched_ = {};
  since_ = seen_at_ = gone_at_ = 0;
}

// Of a key that is held, only its end is still to come.
void place::stop_watching() {
  stop_watching_before();
  auto const rest = state_ == state::held ? watch_hub::rest::nothing : watch_hub::rest::events;
  if (own_watch_ != 0) around_.hub->remove(std::exchange(own_watch_, 0), rest);
  own_stands_ = false;
  handed_at_ = 0;
  ready_at_ = clock::time_point::max();
}

// The first has its release to do without knowing who is next, if nobody was there when it came: it
// is watched by the next. The others are told by who holds before them.
void place::queue_behind(found_entries const& found) {
  state_ = state::queued;
  created_ = found.own.create_revision;
  modified_ = found.own.mod_revision;
  before_ = found.before.key;
  if (own_watch_ == 0 && found.position <= 2) {
    watch_over(from_before_to_own());
  } else {
    if (own_watch_ == 0) watch_own(found.position);
    if (watch_ != 0) watch_over({before_});
  }
  seen_at_ = found.seen_at;
}

watched_keys place::from_before_to_own() const {
  auto const [first, last] = std::minmax(before_, key_);
  return {first, last};
}

// With another lease, the key goes on with another handle of the owner, which may end it.
void place::stay_behind(range_reply const& found) {
  auto const& all = found.entries;
  queue_behind({all[0], all[1], all.size(), all[0].lease == lease_ ? found.revision : 0});
}

void place::watch_over(watched_keys const& what) {
  if (watch_ != 0 && watched_ == what) return;
  stop_watching_before();
  if (closed_) return;
  watched_ = what;
  watch_ = around_.hub->add(what, [weak = weak_from_this()](watch_message const& news) {
    if (auto const self = weak.lock()) self->on_news(news);
  });
}

// The member is busiest when many come at once, and has the first release to do then: the other
// watch comes later, if at all.
void place::watch_own(std::size_t position) {
  if (closed_) return;
  watched_keys const own{key_, {}, key_change::kind::written};
  own_watch_ = around_.hub->add(own, [weak = weak_from_this()](watch_message const& news) {
    if (auto const self = weak.lock()) self->on_own_news(news);
  });
  auto const further = static_cast<milliseconds::rep>(position - 2);
  ready_at_ = clock::now() + std::min(ready_per_place * further, ready_at_last);
}

void place::be_ready_by(clock::time_point when) {
  ready_at_ = std::min(ready_at_, when);
  if (!running_) arm();
}

void place::get_ready() {
  ready_at_ = clock::time_point::max();
  told_at_ = std::max(told_at_, created_);
  watch_over({before_});
}

// ------------------------------------------------------------------------------- news

void place::on_news(watch_message const& news) {
  bool const begins = news.what == watch_message::kind::created;
  if (begins) {
    if (since_ > 0) seen_at_ = 0;  // it was interrupted
    since_ = news.revision;
    gone_at_ = 0;
    handed_at_ = 0;
  }
  bool own = false;
  bool gone = false;
  for (auto const& change : news.changes) {
    if (change.key == key_) on_own_change(change);
    own = own || change.key == key_;
    if (change.key != before_ || change.what != key_change::kind::deleted) continue;
    gone = true;
    gone_at_ = change.revision;
  }
  if (own) since_ = std::max(since_, news.revision);
  if (begins || own || (gone && !watched_.is_one())) return look_after(news.revision);
  if (!gone) return;
  told_at_ = std::max(told_at_, news.revision);
  // The other watch tells of the same release, perhaps in a moment: then there is nothing to look
  // for.
  be_ready_by(clock::now() + patience_with_news);
}

void place::on_own_news(watch_message const& news) {
  bool concerns_us = !news.changes.empty();
  if (news.what == watch_message::kind::created) {
    concerns_us = std::exchange(own_stands_, true);  // it was interrupted
    handed_at_ = 0;
  }
  for (auto const& change : news.changes) on_own_change(change);
  if (concerns_us) look_after(news.revision);
}

// Our own write, of which a member that lags behind tells, is no hand-over; nor is that of another
// handle of the owner, which has its own lease.
void place::on_own_change(key_change const& change) {
  bool const as_it_was = change.what == key_change::kind::written &&
                         change.create_revision == created_ && change.lease == lease_;
  if (as_it_was && change.revision <= modified_) return;
  handed_at_ = as_it_was ? change.revision : 0;
}

void place::look_after(std::int64_t revision) {
  told_at_ = std::max(told_at_, revision);
  if (std::exchange(look_wanted_, true)) return;
  add([this] { return look(); });
}

// Whoever was stopped for long must look: its lease may have ended after the news.
bool place::believes_news(clock::time_point now) const {
  return alive_until_ - now > std::chrono::seconds(lease_ttl_) / 2 && !adopted_;
}

// The key before ours was the first, ours was there behind it, and since then nothing was done to
// ours before the other one was deleted.
bool place::first_by_news(clock::time_point now) const {
  bool const told_of_both = watch_ != 0 && !watched_.is_one() && since_ > 0 && seen_at_ >= since_;
  return told_of_both && gone_at_ > seen_at_ && believes_news(now);
}

// Who held wrote our key in the step that deleted its own, and nothing was done to ours since.
bool place::handed_over(clock::time_point now) const {
  return handed_at_ > 0 && believes_news(now);
}

// ------------------------------------------------------------------------------- handing over

void place::search_next() {
  next_ = {};
  search_ = nullptr;
  if (closed_) return;
  auto const executor = around_.gate->executor();
  search_ = std::make_shared<timer>(executor, clock::time_point::max());
  asio::post(executor, [executor, self = shared_from_this(), done = search_] {
    asio::co_spawn(
        executor, [self, done] { return self->search(done); }, asio::detached);
  });
}

// What it finds is a hint: the release compares. Other clients' keys are not written.
asio::awaitable<void> place::search(std::shared_ptr<timer> done) {
  if (search_ != done || closed_) co_return;
  std::string const body = next_request(prefix_, created_);
  auto const deadline = std::min(step_deadline(), clock::now() + longest_search);
  auto const outcome = co_await around_.gate->call(path::range, body, deadline);
  auto const found = outcome.ok() ? range_in(outcome.body) : std::nullopt;
  done->cancel();
  if (search_ != done) co_return;
  search_ = nullptr;
  auto const* next = found ? found->first() : nullptr;
  bool const is_other = next && next->key != key_;
  if (is_other && from_value(next->value).ttl > milliseconds{0}) next_ = *next;
}

// A search that takes longer is not waited for: the next one learns of the release by its watch of
// the key before its own.
asio::awaitable<place::removal> place::hand_over() {
  if (auto const search = search_) {
    search->expires_after(patience_with_search);
    co_await search->async_wait(quietly);
  }
  int unanswered = 0;
  if (!next_.key.empty()) {
    std::string const request = hand_over_request(key_, modified_, next_);
    removal made = co_await remove_by(request);
    if (!made.refused) co_return made;
    // A server without space refuses to write, but not to delete.
    unanswered = std::max(made.attempts - 1, 0);
  }
  std::string const alone = remove_unchanged_request(key_, modified_);
  removal made = co_await remove_by(alone);
  made.attempts += unanswered;
  co_return made;
}

}  // namespace herdlock::etcd
