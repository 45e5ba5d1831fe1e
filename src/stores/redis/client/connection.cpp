#include "stores/redis/client/connection.hpp"

#include "stores/redis/client/server_errors.hpp"
#include "stores/redis/jitter.hpp"

namespace herdlock::redis {

connection::connection(asio::any_io_executor executor, settings how,
                       std::shared_ptr<connection_check> check)
    : executor_(std::move(executor)),
      how_(std::move(how)),
      check_(std::move(check)),
      attempt_timer_(executor_),
      deadlines_(std::make_shared<steady_shared_timer>(executor_)) {}

connection::~connection() = default;

template <class F>
void connection::tell_listeners(F what) const {
  for (auto const& one : listeners_) {
    if (auto const listener = one.lock()) what(*listener);
  }
}

void connection::open() {
  if (closed_ || std::exchange(opened_, true)) return;
  if (how_.resolver) {
    watching_ = how_.resolver->watch([weak = weak_from_this()](stores::server_address const& to) {
      if (auto const self = weak.lock()) self->on_moved(to);
    });
  }
  connect();
}

void connection::close() {
  if (std::exchange(closed_, true)) return;
  stage_ = stage::down;
  attempt_timer_.cancel();
  asking_ = watching_ = nullptr;
  if (auto const old = std::exchange(transport_, nullptr)) old->stop();
  end_outstanding(how_.failed(errc::canceled, "the store handle is being closed"));
  deadlines_->close();
  waiting_.clear();
}

// ---------------------------------------------------------------------------------- connection

milliseconds connection::attempt_limit() const {
  return how_.resolver ? std::min(how_.timeout, max_resolved_attempt) : how_.timeout;
}

void connection::limit_attempt(milliseconds limit) {
  run_after(attempt_timer_, limit, weak_from_this(), [](connection& self) {
    if (self.closed_ || self.up()) return;
    self.lose(self.no_connection(errc::unavailable), failure_kind::temporary);
  });
}

// Resolve, connect, TLS, greeting and examination together get one command's time; a server that a
// resolver named gets less, because the resolver may know a better one by then.
void connection::connect() {
  limit_attempt(how_.timeout);
  if (!how_.resolver) {
    if (choose_address_) choose_address_(how_);
    transport_ = transport::start(executor_, how_, weak_from_this());
    return;
  }
  asking_ = how_.resolver->where(
      [weak = weak_from_this()](result<stores::server_address> at, failure_kind kind) {
        if (auto const self = weak.lock()) self->on_resolved(std::move(at), kind);
      });
}

void connection::on_resolved(result<stores::server_address> at, failure_kind kind) {
  if (closed_) return;
  if (at.has_error()) return lose(at.error(), kind);
  asking_ = nullptr;
  how_.host = at->host;
  how_.port = at->port;
  limit_attempt(attempt_limit());
  transport_ = transport::start(executor_, how_, weak_from_this());
}

// A master that was replaced goes on answering for seconds, and what it takes is lost; one that
// hangs would be waited for.
void connection::on_moved(stores::server_address const& to) {
  if (closed_ || !transport_ || (to.host == how_.host && to.port == how_.port)) return;
  pause_ = min_reconnect_pause;
  lose(how_.failed(errc::unavailable, "the master is not at " + how_.address() + " any more"),
       failure_kind::temporary);
}

failure connection::no_connection(errc code) const {
  std::string_view const hint = how_.tls.security == stores::encryption::none
                                    ? "; is it reachable?"
                                    : "; is it reachable, and does it speak TLS on this port?";
  return how_.failed(code, "no connection to " + how_.address() + " within " +
                               in_ms(attempt_limit()) + std::string(hint));
}

void connection::on_ready(transport& from) {
  if (closed_ || &from != transport_.get()) return;
  if (!check_) return come_up();
  stage_ = stage::checking;
  auto commands = make_batch();
  check_->ask(*commands);
  ++batches_under_way_;
  transport_->send(std::move(commands));
}

void connection::on_checked(batch_ptr done, failure const* why) {
  --batches_under_way_;
  if (why) return lose(*why, failure_kind::temporary);
  std::span const answers(done->replies.data(), done->commands.size());
  verdict const found = check_->verdict_on(answers, how_.address());
  if (found.why.code) return lose(found.why, found.kind);
  // A server whose clock is behind the last one's, or that hides it, must not lower it.
  // Why: docs/stores/redis.md#a-fence-floor-counts-from-the-connection
  fence_floor_ = std::max(fence_floor_, check_->facts().time_us.value_or(1));
  come_up();
}

void connection::come_up() {
  stage_ = stage::up;
  ++connections_;
  kind_ = failure_kind::temporary;
  // A server that was left a moment ago may be the one that was found again.
  if (std::chrono::steady_clock::now() - left_server_at_ > 2 * max_reconnect_pause) {
    pause_ = min_reconnect_pause;
  }
  last_failure_ = {};
  attempt_timer_.cancel();
  flush();
  if (how_.news && connections_ > 1) how_.news->tell();
  tell_listeners([](auto& listener) { listener.on_connection_up(); });
}

void connection::on_ended(transport& from, failure why, failure_kind kind) {
  if (closed_ || &from != transport_.get()) return;
  lose(std::move(why), kind);
}

// The batches of the lost transport come back by themselves, at once, and fail with its reason.
void connection::lose(failure why, failure_kind kind) {
  bool const was_up = stage_ == stage::up || stage_ == stage::ending;
  if (!was_up && transport_ && how_.resolver) {
    why.message += how_.resolver->was_wrong({how_.host, how_.port});
  }
  stage_ = stage::down;
  misdirected_.clear();
  asking_ = nullptr;
  last_failure_ = std::move(why);
  kind_ = kind;
  if (auto const old = std::exchange(transport_, nullptr)) old->stop();
  reconnect_later();
  if (kind_ == failure_kind::refused) refuse_waiting();
  tell_listeners([](auto& listener) { listener.on_connection_down(); });
}

// After a failover the name leads elsewhere; only this connection still leads to the old server.
void connection::leave_server(std::string_view line) {
  left_server_at_ = std::chrono::steady_clock::now();
  lose(server_failure(line, how_.display_name), failure_kind::temporary);
}

void connection::leave(failure const& why) {
  if (closed_ || !transport_) return;
  left_server_at_ = std::chrono::steady_clock::now();
  lose(why, failure_kind::temporary);
}

// Examined, too: a subscription at a replica hears what its master publishes, but the master, which
// asks how many hear a grant, does not count it.
std::shared_ptr<connection> connection::make_event_connection() {
  auto check = check_ ? std::make_shared<connection_check>(how_, nullptr) : nullptr;
  settings how = how_;
  how.news = nullptr;
  return std::make_shared<connection>(executor_, std::move(how), std::move(check));
}

void connection::reconnect_later() {
  bool const resolvable = how_.resolver && kind_ != failure_kind::refused;
  run_after(attempt_timer_, jittered(pause_), weak_from_this(), [](connection& self) {
    if (!self.closed_ && !self.transport_ && !self.asking_) self.connect();
  });
  pause_ = std::min(2 * pause_, resolvable ? max_resolved_pause : max_reconnect_pause);
}

void connection::refuse_waiting() {
  failure const why = last_failure_;
  auto refused = std::exchange(waiting_, {});
  for (auto& one : refused) {
    if (!one->open()) continue;
    --outstanding_count_;
    one->fail(why, completion::later);
  }
}

failure connection::missed_deadline(command const& one) const {
  std::string const limit = " within " + in_ms(how_.timeout);
  if (one.sent) {
    return how_.failed(errc::timed_out,
                       "the server did not answer" + limit + "; whether it acted is unknown");
  }
  if (last_failure_.code) {
    return failure{last_failure_.code,
                   last_failure_.message + " (tried again and again" + limit + ")"};
  }
  return no_connection(errc::timed_out);
}

void connection::on_push(transport& from, reply const& message) {
  if (&from != transport_.get()) return;
  tell_listeners([&](auto& listener) { listener.on_message(message); });
}

void connection::subscription(std::string_view verb, std::string_view channel) {
  if (up() && transport_) transport_->subscription(verb, channel);
}

}  // namespace herdlock::redis
