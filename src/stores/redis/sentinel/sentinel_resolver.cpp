#include "stores/redis/sentinel/sentinel_resolver.hpp"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <sstream>

#include "stores/redis/client/connection.hpp"
#include "stores/redis/client/raw_command.hpp"
#include "stores/redis/client/server_errors.hpp"

namespace herdlock::redis {

settings sentinel_settings(settings const& how, stores::server_address const& at,
                           milliseconds limit) {
  settings one;
  one.host = at.host;
  one.port = at.port;
  one.display_name = "sentinel " + one.address();
  one.user = how.sentinel_user;
  one.password = how.sentinel_password;
  one.tls = how.tls;
  one.timeout = limit;
  return one;
}

namespace {

// Leads a connection to each sentinel in turn.
class next_sentinel final : public address_resolver {
 public:
  next_sentinel(asio::any_io_executor executor, std::vector<stores::server_address> sentinels)
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
  std::vector<stores::server_address> sentinels_;
  std::size_t next_ = 0;
};

class sentinel_resolver final : public address_resolver,
                                public connection_listener,
                                public std::enable_shared_from_this<sentinel_resolver> {
 public:
  sentinel_resolver(asio::any_io_executor executor, settings const& how)
      : executor_(std::move(executor)), how_(how), sentinels_(how.sentinels) {
    how_.resolver = nullptr;  // that is us
  }

  std::shared_ptr<void> where(answer done) override;
  std::shared_ptr<void> watch(news moved) override;

  asio::any_io_executor const& executor() const { return executor_; }
  settings const& how() const { return how_; }
  std::vector<stores::server_address> const& sentinels() const { return sentinels_; }

  milliseconds limit() const {
    auto const share = how_.timeout / static_cast<milliseconds::rep>(sentinels_.size() + 1);
    return std::clamp(share, min_sentinel_time, max_sentinel_time);
  }
  void to_the_back(stores::server_address const& failed) {
    auto const at = std::find(sentinels_.begin(), sentinels_.end(), failed);
    if (at != sentinels_.end()) std::rotate(at, at + 1, sentinels_.end());
  }

 private:
  void on_connection_up() override { events_->subscription("SUBSCRIBE", "+switch-master"); }
  void on_message(reply const& message) override;
  void unwatch(std::uint64_t id);

  asio::any_io_executor executor_;
  settings how_;
  std::vector<stores::server_address> sentinels_;
  std::map<std::uint64_t, news> watchers_;
  std::uint64_t last_watcher_ = 0;
  std::shared_ptr<connection> events_;  // while there are watchers
};

std::shared_ptr<void> sentinel_resolver::watch(news moved) {
  auto const id = ++last_watcher_;
  watchers_.emplace(id, std::move(moved));
  if (!events_) {
    auto how = sentinel_settings(how_, sentinels_.front(), how_.timeout);
    how.resolver = std::make_shared<next_sentinel>(executor_, sentinels_);
    events_ = std::make_shared<connection>(executor_, std::move(how));
    events_->attach(weak_from_this());
    events_->open();
  }
  auto const self = shared_from_this();
  return std::shared_ptr<void>(this, [self, id](void*) { self->unwatch(id); });
}

void sentinel_resolver::unwatch(std::uint64_t id) {
  watchers_.erase(id);
  if (!watchers_.empty() || !events_) return;
  events_->close();
  events_ = nullptr;
}

// `message`, the channel, and "NAME OLD-HOST OLD-PORT HOST PORT".
void sentinel_resolver::on_message(reply const& message) {
  if (message.text(1) != "message" || message.text(2) != "+switch-master") return;
  std::istringstream words{std::string(message.text(3))};
  std::string name, old_host, old_port, host;
  std::uint16_t port = 0;
  words >> name >> old_host >> old_port >> host >> port;
  if (!words || name != how_.master_name) return;
  auto const told = watchers_;  // what is told may come and go meanwhile
  for (auto const& [id, moved] : told) moved({host, port});
}

// One query to all sentinels in turn, until one knows.
class sentinel_query final : public transport_listener,
                             public std::enable_shared_from_this<sentinel_query> {
 public:
  sentinel_query(std::shared_ptr<sentinel_resolver> home, address_resolver::answer done)
      : home_(std::move(home)),
        done_(std::move(done)),
        left_(home_->sentinels()),
        timer_(home_->executor()) {}
  ~sentinel_query() override { stop(); }
  sentinel_query(sentinel_query const&) = delete;
  sentinel_query& operator=(sentinel_query const&) = delete;

  void start() {
    asio::post(home_->executor(), [weak = weak_from_this()] {
      if (auto const self = weak.lock()) self->ask_next();
    });
  }

 private:
  void ask_next() {
    if (asked_ == left_.size()) return give_up();
    auto const one = sentinel_settings(home_->how(), left_[asked_], home_->limit());
    name_ = one.display_name;
    run_after(timer_, home_->limit(), weak_from_this(), [number = asked_](sentinel_query& self) {
      if (self.asked_ == number) self.on_silence();
    });
    transport_ = transport::start(home_->executor(), one, weak_from_this());
  }

  void on_ready(transport& from) override {
    if (&from != transport_.get()) return;
    auto request = make_batch();
    ask(*request, {"SENTINEL", "get-master-addr-by-name", home_->how().master_name});
    transport_->send(std::move(request));
  }

  void on_batch(transport& from, batch_ptr done, failure const* why) override {
    if (&from != transport_.get() || why) return;  // the end follows
    reply const& answer = done->replies.front();
    if (answer.is_error()) return failed(explained(answer.text()));
    if (answer.kind() == reply_kind::null) {
      return failed(make_failure(errc::invalid_url, name_ + ": it knows no such master"));
    }
    auto const port = answer.number(2);
    if (answer.list_size() != 2 || answer.text(1).empty() || !port || *port < 1 || *port > 65535) {
      return failed(make_failure(errc::protocol, name_ + ": an answer that is no address"));
    }
    complete(stores::server_address{std::string(answer.text(1)), static_cast<std::uint16_t>(*port)},
             failure_kind::temporary);
  }

  void on_ended(transport& from, failure why, failure_kind) override {
    if (&from != transport_.get()) return;
    failed(advised(std::move(why)));
  }

  void on_silence() {
    failed(make_failure(errc::unavailable, name_ + ": no answer within " + in_ms(home_->limit())));
  }

  failure explained(std::string_view line) const { return advised(server_failure(line, name_)); }
  // Of a certificate that is not trusted the server has said nothing.
  static failure advised(failure why) {
    bool const refused_us = why.message.find("the server says") != std::string::npos;
    if (why == errc::access_denied && refused_us) {
      why.message +=
          "; the sentinels' own account is given with sentinel_user and "
          "sentinel_password";
    }
    return why;
  }

  void failed(failure why) {
    stop();
    home_->to_the_back(left_[asked_]);
    ++asked_;
    denied_ = denied_ || why == errc::access_denied;
    unknown_ = unknown_ || why == errc::invalid_url;
    may_recover_ = may_recover_ || !(why == errc::access_denied || why == errc::invalid_url);
    reasons_ += (reasons_.empty() ? "" : "; ") + why.message;
    // Not from here: this is the end of the transport that was just let go.
    start();
  }

  // As long as one of them could not be asked, the next attempt may know more.
  void give_up() {
    errc const code = may_recover_ ? errc::unavailable
                      : denied_    ? errc::access_denied
                                   : errc::invalid_url;
    std::string const advice =
        unknown_ ? "; is that the name in their `sentinel monitor NAME …`?" : "";
    complete(home_->how().failed(code, "no sentinel tells where the master " +
                                           in_quotes(home_->how().master_name) + " is (" +
                                           reasons_ + ")" + advice),
             may_recover_ ? failure_kind::temporary : failure_kind::refused);
  }

  void stop() {
    timer_.cancel();
    if (auto const old = std::exchange(transport_, nullptr)) old->stop();
  }

  void complete(result<stores::server_address> outcome, failure_kind kind) {
    auto const self = shared_from_this();  // the answer may let this query go
    stop();
    if (auto const done = std::exchange(done_, nullptr)) done(std::move(outcome), kind);
  }

  std::shared_ptr<sentinel_resolver> home_;
  address_resolver::answer done_;
  std::vector<stores::server_address> const left_;
  asio::steady_timer timer_;
  std::shared_ptr<transport> transport_;
  std::size_t asked_ = 0;
  std::string name_;
  std::string reasons_;
  // Of the sentinels asked so far: one refused us, one knew no such name, one did neither.
  bool denied_ = false;
  bool unknown_ = false;
  bool may_recover_ = false;
};

std::shared_ptr<void> sentinel_resolver::where(answer done) {
  auto query = std::make_shared<sentinel_query>(shared_from_this(), std::move(done));
  query->start();
  return query;
}

}  // namespace

std::shared_ptr<address_resolver> make_sentinel_resolver(asio::any_io_executor executor,
                                                         settings const& how) {
  return std::make_shared<sentinel_resolver>(std::move(executor), how);
}

}  // namespace herdlock::redis
