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

// One that hangs is noticed within this time or so, and nothing is heard until then.
constexpr milliseconds max_news_silence{1000};
// After the news of a switch the sentinels are asked so often until most of them know it.
constexpr milliseconds switch_pause{250};
constexpr milliseconds switch_patience{10'000};

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
  void on_switch(server_address const& to);
  void choose_whom_to_hear(settings& how);
  void unwatch(std::uint64_t id);
  void look();
  void look_later();
  void leave_who_is_wrong();
  void ask();
  void on_vote(sentinel_query::outcome const& told);
  void tell_watchers(server_address const& master);
  void to_the_back(server_address const& sentinel);

  asio::any_io_executor executor_;
  settings how_;
  std::vector<server_address> trusted_;    // the sentinels; who was wrong or silent last is behind
  std::optional<server_address> present_;  // the last outcome
  std::optional<sentinel_query::outcome> last_;   // where it came from
  std::shared_ptr<sentinel_query> query_;         // while one is under way
  bool again_ = false;                            // what it finds may be older than the last look
  std::vector<std::weak_ptr<request>> requests_;  // that wait for it
  std::optional<server_address> heard_;           // the new master, until most name it
  clock::time_point heard_at_{};

  std::map<std::uint64_t, news> watchers_;
  std::uint64_t last_watcher_ = 0;
  std::shared_ptr<connection> events_;  // while there are watchers
  asio::steady_timer look_timer_;       // likewise
};

std::shared_ptr<void> sentinel_resolver::where(answer done) {
  auto one = std::make_shared<request>(request{std::move(done)});
  requests_.push_back(one);
  if (!query_) ask();
  return one;
}

void sentinel_resolver::ask() {
  again_ = false;
  query_ = std::make_shared<sentinel_query>(executor_, how_, master_vote(trusted_),
                                            last_ ? last_->silent : std::vector<server_address>());
  query_->start([weak = weak_from_this()](sentinel_query::outcome const& told) {
    if (auto const self = weak.lock()) self->on_vote(told);
  });
}

void sentinel_resolver::on_vote(sentinel_query::outcome const& told) {
  auto const self = shared_from_this();
  query_ = nullptr;
  auto const asked = std::exchange(requests_, {});
  last_ = told;
  for (auto const& one : told.silent) to_the_back(one);
  auto const master = told.vote.winner(present_);
  if (master) present_ = master;
  if (heard_ && (heard_ == master || clock::now() - heard_at_ > switch_patience)) heard_.reset();
  if (events_) look_later();
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
  if (again_ && !query_) ask();
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
  if (!last_) return {};
  auto const wrong = last_->vote.who_named(master);
  for (auto const& one : wrong) to_the_back(one);
  if (present_ == master) present_.reset();
  return naming_text(wrong);
}

// ------------------------------------------------------------------------------------- moves

std::shared_ptr<void> sentinel_resolver::watch(news moved) {
  auto const id = ++last_watcher_;
  watchers_.emplace(id, std::move(moved));
  if (!events_) {
    auto how = sentinel_settings(how_, trusted_.front(), std::min(how_.timeout, max_news_silence));
    events_ = std::make_shared<connection>(executor_, std::move(how));
    events_->choose_address([weak = weak_from_this(), first = true](settings& to) mutable {
      auto const self = weak.lock();
      if (self && !std::exchange(first, false)) self->choose_whom_to_hear(to);
    });
    events_->attach(weak_from_this());
    events_->open();
    look_later();
  }
  auto const self = shared_from_this();
  return std::shared_ptr<void>(this, [self, id](void*) { self->unwatch(id); });
}

// Another one than the last, which was lost or is wrong.
void sentinel_resolver::choose_whom_to_hear(settings& how) {
  server_address const last{how.host, how.port};
  bool const again = trusted_.front() == last && trusted_.size() > 1;
  auto const& next = again ? trusted_[1] : trusted_.front();
  how.host = next.host;
  how.port = next.port;
  how.display_name = "sentinel " + how.address();
}

void sentinel_resolver::unwatch(std::uint64_t id) {
  watchers_.erase(id);
  if (!watchers_.empty() || !events_) return;
  events_->close();
  events_ = nullptr;
  look_timer_.cancel();
}

void sentinel_resolver::look_later() {
  auto const pause = heard_ ? switch_pause : sentinel_look_interval;
  run_after(look_timer_, jittered(pause), weak_from_this(), [](sentinel_resolver& self) {
    self.leave_who_is_wrong();
    self.look();
  });
}

// A sentinel that names another master than most tells of no switch that counts.
void sentinel_resolver::leave_who_is_wrong() {
  if (!events_ || heard_ || !last_ || !present_) return;
  server_address const listened{events_->how().host, events_->how().port};
  if (!last_->vote.contradicts(listened, *present_)) return;
  to_the_back(listened);
  events_->leave(make_failure(errc::unavailable, "it does not name the master that most name"));
}

void sentinel_resolver::look() {
  if (!events_) return;
  if (query_) {
    again_ = true;
  } else {
    ask();
  }
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
  std::string name, old_host, old_port;
  server_address to;
  words >> name >> old_host >> old_port >> to.host >> to.port;
  if (words && name == how_.master_name) on_switch(to);
}

// One sentinel says so, which may be alone with it. The others know it within a second or two.
void sentinel_resolver::on_switch(server_address const& to) {
  heard_ = to;
  heard_at_ = clock::now();
  look();
}

}  // namespace

std::shared_ptr<address_resolver> make_sentinel_resolver(asio::any_io_executor executor,
                                                         settings const& how) {
  return std::make_shared<sentinel_resolver>(std::move(executor), how);
}

}  // namespace herdlock::redis
