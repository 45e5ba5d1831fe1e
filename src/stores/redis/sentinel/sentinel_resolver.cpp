#include "stores/redis/sentinel/sentinel_resolver.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <sstream>

#include "stores/redis/client/connection.hpp"
#include "stores/redis/jitter.hpp"
#include "stores/redis/sentinel/sentinel_query.hpp"

namespace herdlock::redis {
namespace {

using stores::server_address;

constexpr milliseconds max_news_silence{1000};

// Leads a connection to each sentinel in turn.
class next_sentinel final : public address_resolver {
 public:
  next_sentinel(asio::any_io_executor executor, std::vector<server_address> sentinels)
      : executor_(std::move(executor)), sentinels_(std::move(sentinels)) {}

  std::shared_ptr<void> where(answer done) override {
    auto request = std::make_shared<answer>(std::move(done));
    auto const& at = sentinels_[next_++ % sentinels_.size()];
    asio::post(executor_, [weak = std::weak_ptr(request), at] {
      if (auto const asked = weak.lock()) (*asked)(at, failure_kind::temporary);
    });
    return request;
  }
  std::shared_ptr<void> watch(news) override { return nullptr; }

 private:
  asio::any_io_executor executor_;
  std::vector<server_address> sentinels_;
  std::size_t next_ = 0;
};

class sentinel_resolver final : public address_resolver,
                                public connection_listener,
                                public std::enable_shared_from_this<sentinel_resolver> {
 public:
  sentinel_resolver(asio::any_io_executor executor, settings const& how)
      : executor_(std::move(executor)), how_(how), trusted_(how.sentinels), look_timer_(executor_) {
    how_.resolver = nullptr;  // that is us
  }

  std::shared_ptr<void> where(answer done) override;
  std::shared_ptr<void> watch(news moved) override;
  std::string was_wrong(server_address const& master) override;

 private:
  // Who asks, until what where() returned is let go.
  struct request {
    answer done;
  };

  void on_connection_up() override { events_->subscription("SUBSCRIBE", "+switch-master"); }
  void on_message(reply const& message) override;
  void on_switch(master_switch const& told);
  void unwatch(std::uint64_t id);
  void look();
  void look_later();
  void ask();
  void on_vote(sentinel_query::outcome const& told);
  void tell_watchers(server_address const& master);
  void to_the_back(server_address const& sentinel);
  std::optional<master_switch> heard() const;

  asio::any_io_executor executor_;
  settings how_;
  std::vector<server_address> trusted_;    // the sentinels; who was wrong or silent last is behind
  std::optional<server_address> present_;  // the last outcome
  std::optional<master_vote> last_vote_;   // where it came from
  std::shared_ptr<sentinel_query> query_;  // while one is under way
  std::vector<std::weak_ptr<request>> requests_;  // that wait for it
  std::optional<master_switch> heard_;
  clock::time_point heard_at_{};

  std::map<std::uint64_t, news> watchers_;
  std::uint64_t last_watcher_ = 0;
  std::shared_ptr<connection> events_;  // while there are watchers
  asio::steady_timer look_timer_;       // likewise
};

std::shared_ptr<void> sentinel_resolver::where(answer done) {
  auto one = std::make_shared<request>(request{std::move(done)});
  requests_.push_back(one);
  ask();
  return one;
}

void sentinel_resolver::ask() {
  if (query_) return;
  query_ = std::make_shared<sentinel_query>(
      executor_, how_, master_vote(trusted_, heard()),
      [weak = weak_from_this()](sentinel_query::outcome const& told) {
        if (auto const self = weak.lock()) self->on_vote(told);
      });
  query_->start();
}

// What the other sentinels say of a switch may be late, but not for that long.
std::optional<master_switch> sentinel_resolver::heard() const {
  if (clock::now() - heard_at_ > sentinel_look_interval) return std::nullopt;
  return heard_;
}

void sentinel_resolver::on_vote(sentinel_query::outcome const& told) {
  auto const self = shared_from_this();
  query_ = nullptr;
  auto const asked = std::exchange(requests_, {});
  for (auto const& one : told.silent) to_the_back(one);
  last_vote_ = told.vote;
  auto const master = told.vote.winner(present_);
  if (master) present_ = master;
  for (auto const& weak : asked) {
    auto const one = weak.lock();
    if (!one) continue;
    if (master) {
      one->done(*master, failure_kind::temporary);
    } else {
      one->done(told.why, told.kind);
    }
  }
  if (master) tell_watchers(*master);
}

// Each of them knows whether that is news.
void sentinel_resolver::tell_watchers(server_address const& master) {
  auto const told = watchers_;  // what is told may come and go meanwhile
  for (auto const& [id, moved] : told) moved(master);
}

void sentinel_resolver::to_the_back(server_address const& sentinel) {
  auto const at = std::find(trusted_.begin(), trusted_.end(), sentinel);
  if (at != trusted_.end()) std::rotate(at, at + 1, trusted_.end());
}

std::string sentinel_resolver::was_wrong(server_address const& master) {
  if (!last_vote_) return {};
  auto const liars = last_vote_->who_named(master);
  for (auto const& one : liars) to_the_back(one);
  if (present_ == master) present_.reset();
  if (heard_ && heard_->to == master) heard_.reset();
  return naming_text(liars);
}

// ------------------------------------------------------------------------------------- moves

std::shared_ptr<void> sentinel_resolver::watch(news moved) {
  auto const id = ++last_watcher_;
  watchers_.emplace(id, std::move(moved));
  if (!events_) {
    // One that hangs is noticed within this time or so, and nothing is heard until then.
    auto how = sentinel_settings(how_, trusted_.front(), std::min(how_.timeout, max_news_silence));
    how.resolver = std::make_shared<next_sentinel>(executor_, trusted_);
    events_ = std::make_shared<connection>(executor_, std::move(how));
    events_->attach(weak_from_this());
    events_->open();
    look_later();
  }
  auto const self = shared_from_this();
  return std::shared_ptr<void>(this, [self, id](void*) { self->unwatch(id); });
}

void sentinel_resolver::unwatch(std::uint64_t id) {
  watchers_.erase(id);
  if (!watchers_.empty() || !events_) return;
  events_->close();
  events_ = nullptr;
  look_timer_.cancel();
}

void sentinel_resolver::look_later() {
  run_after(look_timer_, jittered(sentinel_look_interval), weak_from_this(),
            [](sentinel_resolver& self) { self.look(); });
}

void sentinel_resolver::look() {
  if (!events_) return;
  ask();
  look_later();
}

// `message`, the channel, and "NAME OLD-HOST OLD-PORT HOST PORT"; or `subscribe` and the channel:
// 1. the sentinel that was listened to hangs;  2. the others make another server the master;
// 3. this one is subscribed to. Nobody tells of step 2 any more, so it is asked for.
void sentinel_resolver::on_message(reply const& message) {
  if (message.text(2) != "+switch-master") return;
  if (message.text(1) == "subscribe") return look();
  if (message.text(1) != "message") return;
  std::istringstream words{std::string(message.text(3))};
  std::string name;
  master_switch told;
  words >> name >> told.from.host >> told.from.port >> told.to.host >> told.to.port;
  if (words && name == how_.master_name) on_switch(told);
}

void sentinel_resolver::on_switch(master_switch const& told) {
  heard_ = told;
  heard_at_ = clock::now();
  present_ = told.to;
  query_ = nullptr;  // it was asked before this was known
  if (!requests_.empty()) ask();
  tell_watchers(told.to);
}

}  // namespace

std::shared_ptr<address_resolver> make_sentinel_resolver(asio::any_io_executor executor,
                                                         settings const& how) {
  return std::make_shared<sentinel_resolver>(std::move(executor), how);
}

}  // namespace herdlock::redis
