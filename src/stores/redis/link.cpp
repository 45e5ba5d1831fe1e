#include "stores/redis/link.hpp"

#include <boost/asio/post.hpp>
#include <random>

#include "stores/redis/server_errors.hpp"

namespace herdlock::redis {
namespace {

constexpr std::size_t max_idle_batches = 8;

milliseconds jittered(milliseconds longest) {
  static thread_local std::minstd_rand random{std::random_device{}()};
  std::uniform_int_distribution<milliseconds::rep> pick(longest.count() / 2, longest.count());
  return milliseconds(pick(random));
}

}  // namespace

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
  std::string_view const hint = how_.security == encryption::none
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
  if (why) return;  // the end of the connection follows
  std::span const answers(done->replies.data(), done->commands.size());
  verdict const found = exam_->judge(answers, how_.place());
  if (found.why.code) return lose(found.why, found.view);
  fence_floor_ = exam_->facts().time_us.value_or(1);
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

void link::reconnect_later() {
  attempt_timer_.expires_after(jittered(pause_));
  pause_ = std::min(2 * pause_, how_.guide ? max_guided_pause : max_reconnect_pause);
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
    one->fail(why, completion::now);
  }
}

void link::on_push(transport& from, reply const& message) {
  if (&from != transport_.get()) return;
  if (auto const watcher = observer_.lock()) watcher->on_message(message);
}

void link::subscription(std::string_view verb, std::string_view channel) {
  if (up_ && transport_) transport_->subscription(verb, channel);
}

// ---------------------------------------------------------------------------------- commands

failure link::refusal() const {
  if (closed_) return make_failure(errc::canceled, how_.display_name + ": the store is closed");
  if (!transport_ && view_ == outlook::refused) return last_failure_;
  if (std::max(outstanding_count_, waiting_.size()) < max_outstanding_commands) return {};
  return make_failure(errc::overloaded, how_.display_name + ": " +
                                            std::to_string(max_outstanding_commands) +
                                            " commands are waiting already; ask less at once");
}

void link::submit(command_ptr what) {
  if (failure const why = refusal(); why.code) return what->fail(why, completion::later);
  what->deadline = std::chrono::steady_clock::now() + how_.timeout;
  outstanding_.push_back(*what);
  ++outstanding_count_;
  waiting_.push_back(std::move(what));
  arm_deadline();
  if (!up_ || completing_ || flush_posted_) return;
  // Alone: at once. In company: after this turn of the event loop, together with the others.
  if (batches_under_way_ == 0) return flush();
  flush_soon();
}

void link::flush_soon() {
  flush_posted_ = true;
  asio::post(executor_, [weak = weak_from_this()] {
    auto const self = weak.lock();
    if (!self) return;
    self->flush_posted_ = false;
    self->flush();
  });
}

void link::flush() {
  while (up_ && !waiting_.empty()) send_batch();
}

void link::send_batch() {
  batch_ptr out;
  if (idle_batches_.empty()) {
    out = make_batch();
  } else {
    out = std::move(idle_batches_.back());
    idle_batches_.pop_back();
  }
  auto const reads = transport_->reads();
  while (!waiting_.empty() && out->commands.size() < max_batch_commands) {
    command_ptr one = std::move(waiting_.front());
    waiting_.pop_front();
    if (!one->open()) continue;  // its caller has gone: it must not happen any more
    one->sent = true;
    one->reads_at_send = reads;
    one->encode(*out, one->form);
    out->commands.push_back(std::move(one));
  }
  if (out->commands.empty()) {
    idle_batches_.push_back(std::move(out));
    return;
  }
  ++batches_under_way_;
  transport_->send(std::move(out));
}

void link::on_batch(transport& from, batch_ptr done, failure const* why) {
  auto const self = shared_from_this();  // a handler may drop the last handle of the store
  if (examining_ && &from == transport_.get()) return on_examined(std::move(done), why);
  // What the handlers ask for must wait for the next connection, not go down with this one.
  bool const ended = why && &from == transport_.get();
  if (ended) up_ = false;
  --batches_under_way_;
  completing_ = true;
  std::string misdirected;
  for (std::size_t i = 0; i < done->commands.size(); ++i) {
    auto& one = done->commands[i];
    reply const& answer = done->replies[i];
    if (!why && answer.is_error() && is_misdirected(answer.text())) misdirected = answer.text();
    if (!one->open()) continue;
    if (why) {
      --outstanding_count_;
      one->fail(*why, completion::now);
    } else {
      finish_one(std::move(one), answer);
    }
  }
  completing_ = false;
  // The transport's own report of its end may not come: see its on_read().
  if (ended && &from == transport_.get() && !closed_) lose(*why, outlook::may_recover);
  if (!misdirected.empty() && up_ && &from == transport_.get()) leave_server(misdirected);
  for (auto& one : done->replies) one.trim();
  done->reset();
  if (idle_batches_.size() < max_idle_batches) idle_batches_.push_back(std::move(done));
  flush();
}

void link::finish_one(command_ptr one, reply const& answer) {
  // Not executed, so it may be sent again: the server was restarted or its scripts flushed.
  if (answer.is_error() && answer.text().starts_with("NOSCRIPT") &&
      one->form == script_form::by_hash && !closed_) {
    one->form = script_form::with_source;
    one->sent = false;
    waiting_.push_back(std::move(one));
    return;
  }
  --outstanding_count_;
  one->finish(answer);
}

void link::cancel(command& what) {
  if (!what.open()) return;
  --outstanding_count_;
  what.fail(make_failure(errc::canceled, how_.display_name + ": cancelled by the caller"),
            completion::later);
  drop_ended();
}

void link::end_outstanding(failure const& why) {
  while (!outstanding_.empty()) {
    --outstanding_count_;
    outstanding_.front().fail(why, completion::later);
  }
}

// Deadlines are in order, so what ended early is at the front before long.
void link::drop_ended() {
  while (!waiting_.empty() && !waiting_.front()->open()) waiting_.pop_front();
}

// ---------------------------------------------------------------------------------- deadlines

void link::arm_deadline() {
  if (deadline_armed_ || outstanding_.empty() || closed_) return;
  deadline_armed_ = true;
  deadline_timer_.expires_at(outstanding_.front().deadline);
  deadline_timer_.async_wait([weak = weak_from_this()](boost::system::error_code) {
    auto const self = weak.lock();
    if (!self) return;
    self->deadline_armed_ = false;
    if (!self->closed_) self->on_deadline();
  });
}

void link::on_deadline() {
  auto const now = std::chrono::steady_clock::now();
  bool silent = false;
  while (!outstanding_.empty() && outstanding_.front().deadline <= now) {
    command& one = outstanding_.front();
    silent = silent || (one.sent && up_ && one.reads_at_send == transport_->reads());
    --outstanding_count_;
    one.fail(missed_deadline(one), completion::now);
  }
  drop_ended();
  if (silent && up_) {
    transport_->forget_unsent();
    lose(make_failure(errc::unavailable, how_.display_name + ": the server at " + how_.place() +
                                             " hangs: it does not answer"),
         outlook::may_recover);
  }
  arm_deadline();
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

}  // namespace herdlock::redis
