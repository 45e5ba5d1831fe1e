#include "stores/redis/client/connection.hpp"

#include <boost/asio/post.hpp>

#include "stores/redis/client/server_errors.hpp"
#include "stores/redis/jitter.hpp"

namespace herdlock::redis {

link::link(asio::any_io_executor executor, settings how, std::shared_ptr<server_exam> exam)
    : executor_(std::move(executor)),
      how_(std::move(how)),
      exam_(std::move(exam)),
      attempt_timer_(executor_),
      deadline_timer_(executor_) {}

link::~link() = default;

void link::open(std::weak_ptr<link_observer> observer) {
  observer_ = std::move(observer);
  if (closed_) return;
  if (how_.guide) {
    watching_ = how_.guide->watch([weak = weak_from_this()](host_and_port const& to) {
      if (auto const self = weak.lock()) self->on_moved(to);
    });
  }
  connect();
}

void link::close() {
  if (std::exchange(closed_, true)) return;
  up_ = false;
  attempt_timer_.cancel();
  asking_ = watching_ = nullptr;
  if (auto const old = std::exchange(transport_, nullptr)) old->stop();
  end_outstanding(
      make_failure(errc::canceled, how_.display_name + ": the store handle is being closed"));
  deadline_timer_.cancel();
  waiting_.clear();
}

// ---------------------------------------------------------------------------------- connection

milliseconds link::attempt_limit() const {
  return how_.guide ? std::min(how_.timeout, max_guided_attempt) : how_.timeout;
}

void link::limit_attempt(milliseconds limit) {
  attempt_timer_.expires_after(limit);
  attempt_timer_.async_wait([weak = weak_from_this()](boost::system::error_code ec) {
    auto const self = weak.lock();
    if (ec || !self || self->closed_ || self->up_) return;
    self->lose(self->no_connection(errc::unavailable), outlook::may_recover);
  });
}

// Resolve, connect, TLS, greeting and examination together get one command's time; a server that a
// guide named gets less, because the guide may know a better one by then.
void link::connect() {
  limit_attempt(how_.timeout);
  if (!how_.guide) {
    if (choose_place_) choose_place_(how_);
    transport_ = transport::start(executor_, how_, weak_from_this());
    return;
  }
  asking_ = how_.guide->where([weak = weak_from_this()](result<host_and_port> at, outlook view) {
    if (auto const self = weak.lock()) self->on_guided(std::move(at), view);
  });
}

void link::on_guided(result<host_and_port> at, outlook view) {
  if (closed_) return;
  if (at.has_error()) return lose(at.error(), view);
  asking_ = nullptr;
  how_.host = at->host;
  how_.port = at->port.value_or(how_.port);
  limit_attempt(attempt_limit());
  transport_ = transport::start(executor_, how_, weak_from_this());
}

// A master that was handed over goes on answering for seconds, and what it takes is lost; one that
// hangs would be waited for.
void link::on_moved(host_and_port const& to) {
  if (closed_ || !transport_ || (to.host == how_.host && to.port == how_.port)) return;
  pause_ = min_reconnect_pause;
  lose(make_failure(errc::unavailable,
                    how_.display_name + ": the master is not at " + how_.place() + " any more"),
       outlook::may_recover);
}

failure link::no_connection(errc code) const {
  std::string_view const hint = how_.tls.security == stores::encryption::none
                                    ? "; is it reachable?"
                                    : "; is it reachable, and does it speak TLS on this port?";
  return make_failure(code, how_.display_name + ": no connection to " + how_.place() + " within " +
                                std::to_string(attempt_limit().count()) + " ms" +
                                std::string(hint));
}

void link::on_ready(transport& from) {
  if (closed_ || &from != transport_.get()) return;
  if (!exam_) return come_up();
  examining_ = true;
  auto questions = make_batch();
  exam_->ask(*questions);
  ++batches_under_way_;
  transport_->send(std::move(questions));
}

void link::on_examined(batch_ptr done, failure const* why) {
  --batches_under_way_;
  examining_ = false;
  if (why) return lose(*why, outlook::may_recover);
  std::span const answers(done->replies.data(), done->commands.size());
  verdict const found = exam_->judge(answers, how_.place());
  if (found.why.code) return lose(found.why, found.view);
  // A server whose clock is behind the last one's, or that hides it, must not lower it.
  fence_floor_ = std::max(fence_floor_, exam_->facts().time_us.value_or(1));
  come_up();
}

void link::come_up() {
  up_ = true;
  ++connections_;
  view_ = outlook::may_recover;
  // A server that was left a moment ago may be the one that was found again.
  if (std::chrono::steady_clock::now() - left_server_at_ > 2 * max_reconnect_pause) {
    pause_ = min_reconnect_pause;
  }
  last_failure_ = {};
  attempt_timer_.cancel();
  flush();
  if (auto const watcher = observer_.lock()) watcher->on_link_up();
}

void link::on_ended(transport& from, failure why, outlook view) {
  if (closed_ || &from != transport_.get()) return;
  lose(std::move(why), view);
}

// The batches of the lost transport come back by themselves, at once, and fail with its reason.
void link::lose(failure why, outlook view) {
  up_ = examining_ = false;
  asking_ = nullptr;
  last_failure_ = std::move(why);
  view_ = view;
  if (auto const old = std::exchange(transport_, nullptr)) old->stop();
  reconnect_later();
  if (view_ == outlook::refused) refuse_waiting();
  if (auto const watcher = observer_.lock()) watcher->on_link_down();
}

// After a failover the name leads elsewhere; only this connection still leads to the old server.
void link::leave_server(std::string_view line) {
  left_server_at_ = std::chrono::steady_clock::now();
  lose(server_failure(line, how_.display_name), outlook::may_recover);
}

void link::leave(failure const& why) {
  if (!closed_ && transport_) lose(why, outlook::may_recover);
}

// Examined, too: a subscription at a replica hears what its master publishes, but the master, which
// asks how many hear a grant, does not count it.
std::shared_ptr<link> link::make_event_link() {
  auto exam = exam_ ? std::make_shared<server_exam>(how_, nullptr) : nullptr;
  return std::make_shared<link>(executor_, how_, std::move(exam));
}

void link::reconnect_later() {
  bool const hopeful = how_.guide && view_ != outlook::refused;
  attempt_timer_.expires_after(jittered(pause_));
  pause_ = std::min(2 * pause_, hopeful ? max_guided_pause : max_reconnect_pause);
  attempt_timer_.async_wait([weak = weak_from_this()](boost::system::error_code ec) {
    auto const self = weak.lock();
    if (ec || !self || self->closed_ || self->transport_ || self->asking_) return;
    self->connect();
  });
}

void link::refuse_waiting() {
  failure const why = last_failure_;
  auto refused = std::exchange(waiting_, {});
  for (auto& one : refused) {
    if (!one->open()) continue;
    --outstanding_count_;
    one->fail(why, completion::later);
  }
}

failure link::missed_deadline(command const& one) const {
  std::string const limit = " within " + std::to_string(how_.timeout.count()) + " ms";
  if (one.sent) {
    return make_failure(errc::timed_out, how_.display_name + ": the server did not answer" + limit +
                                             "; whether it acted is unknown");
  }
  if (last_failure_.code) {
    return failure{last_failure_.code,
                   last_failure_.message + " (tried again and again" + limit + ")"};
  }
  return no_connection(errc::timed_out);
}

void link::on_push(transport& from, reply const& message) {
  if (&from != transport_.get()) return;
  if (auto const watcher = observer_.lock()) watcher->on_message(message);
}

void link::subscription(std::string_view verb, std::string_view channel) {
  if (up_ && transport_) transport_->subscription(verb, channel);
}

}  // namespace herdlock::redis
