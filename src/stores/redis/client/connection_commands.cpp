// The connection's commands: submitted, sent in batches, answered, over.
#include <boost/asio/post.hpp>

#include "stores/redis/client/connection.hpp"
#include "stores/redis/client/raw_command.hpp"
#include "stores/redis/client/server_errors.hpp"

namespace herdlock::redis {
namespace {

constexpr std::size_t max_idle_batches = 8;

// Also when a handler throws.
struct lowered_at_the_end {
  bool& flag;
  ~lowered_at_the_end() { flag = false; }
};

}  // namespace

failure connection::refusal() const {
  if (closed_) return how_.failed(errc::canceled, "the store is closed");
  if (!transport_ && kind_ == failure_kind::refused) return last_failure_;
  if (std::max(outstanding_count_, waiting_.size()) < max_outstanding_commands) return {};
  return how_.failed(errc::overloaded, std::to_string(max_outstanding_commands) +
                                           " commands are waiting already; ask less at once");
}

void connection::submit(command_ptr what) {
  if (failure const why = refusal(); why.code) return what->fail(why, completion::later);
  what->carrier = this;
  keep_deadline(*what);
  ++outstanding_count_;
  waiting_.push_back(std::move(what));
  if (!up() || completing_ || flush_posted_) return;
  // Alone: at once. In company: after this turn of the event loop, together with the others.
  if (batches_under_way_ == 0) return flush();
  flush_soon();
}

void connection::keep_deadline(command& one) {
  auto const now = std::chrono::steady_clock::now();
  if (one.deadline == time_point{}) one.deadline = now + how_.timeout;
  one.short_deadline = one.deadline - now < how_.timeout / 2;
  deadlines_->add(one, one.deadline);
}

void connection::take_off(command& one) {
  one.unlink();
  --outstanding_count_;
  one.carrier = nullptr;
  one.sent = false;
}

std::vector<command_ptr> connection::take_unsent() {
  std::vector<command_ptr> taken;
  auto unsent = std::exchange(waiting_, {});
  for (auto& one : unsent) {
    if (!one->open()) continue;
    if (one->key().empty()) {
      waiting_.push_back(std::move(one));
      continue;
    }
    take_off(*one);
    taken.push_back(std::move(one));
  }
  return taken;
}

void connection::flush_soon() {
  flush_posted_ = true;
  asio::post(executor_, [weak = weak_from_this()] {
    auto const self = weak.lock();
    if (!self) return;
    self->flush_posted_ = false;
    self->flush();
  });
}

void connection::flush() {
  while (up() && !waiting_.empty() && transport_->may_send()) send_batch();
}

command& connection::take_next(batch& into) {
  command_ptr one = std::move(waiting_.front());
  waiting_.pop_front();
  one->sent = true;
  one->reads_at_send = transport_->reads();
  into.commands.push_back(std::move(one));
  return *into.commands.back();
}

// ASKING says that the next command may touch a slot that its sender has only heard of. It holds
// for that one, so the two have to be neighbours. Nobody waits for its reply.
void connection::put_alone(batch& into) {
  if (waiting_.front()->asking) {
    into.answers.add_reply(1);
    ask(into, {"ASKING"});
  } else if (auto first = waiting_.front()->in_front()) {
    into.answers.add_reply(1);
    first->encode(into, first->form);
    into.commands.push_back(std::move(first));
  }
  into.answers.add_reply(1);
  command const& one = take_next(into);
  one.encode(into, one.form);
}

void connection::put_bundle(batch& into, std::size_t size) {
  into.answers.add_reply(size);
  for (std::size_t i = 0; i < size; ++i) bundle_.add(take_next(into));
  bundle_.write(into);
}

void connection::send_batch() {
  batch_ptr out;
  if (idle_batches_.empty()) {
    out = make_batch();
  } else {
    out = std::move(idle_batches_.back());
    idle_batches_.pop_back();
  }
  while (!waiting_.empty() && out->commands.size() < max_batch_commands) {
    if (!waiting_.front()->open()) {  // its caller has gone: it must not happen any more
      waiting_.pop_front();
      continue;
    }
    // In a cluster none share a call: their slots differ.
    auto const together = redirects_ ? 1 : script_bundle::joinable(waiting_);
    if (together > 1) {
      put_bundle(*out, together);
    } else {
      put_alone(*out);
    }
  }
  if (out->commands.empty()) {
    idle_batches_.push_back(std::move(out));
    return;
  }
  ++batches_under_way_;
  transport_->send(std::move(out));
}

// In slices: the server works on what the first handlers ask for while the others run.
// Why: docs/stores/redis.md#replies-in-slices-of-sixteen
bool connection::on_reply(transport& from, batch& of, std::size_t number) {
  if (stage_ == stage::checking && &from == transport_.get()) return true;
  auto const self = shared_from_this();  // a handler may drop the last handle of the store
  completing_ = true;
  lowered_at_the_end const meanwhile{completing_};
  while (of.told < of.commands.size() && of.answers.reply_to(of.told) == number) {
    complete_next(from, of);
  }
  return completed_in_turn_ < completions_per_turn;
}

void connection::complete_next(transport& from, batch& of) {
  bool const bundled = of.answers.is_bundled(of.told);
  auto one = std::move(of.commands[of.told]);
  reply const& answer = of.answer_to(of.told++);
  ++completed_in_turn_;
  bool const current = &from == transport_.get() && !redirects_;
  if (current && answer.is_error() && is_misdirected(answer.text())) misdirected_ = answer.text();
  if (!one->open()) return one->overhear(answer);
  if (bundled && !script_bundle::answers(answer)) return ask_again(std::move(one), answer);
  complete_one(std::move(one), answer);
}

// What the handlers have asked for goes out in one write.
void connection::on_turn(transport&) {
  completed_in_turn_ = 0;
  flush();
}

void connection::on_batch(transport& from, batch_ptr done, failure const* why) {
  auto const self = shared_from_this();
  bool const current = &from == transport_.get();
  if (stage_ == stage::checking && current) return on_checked(std::move(done), why);
  --batches_under_way_;
  if (why) {
    if (current) stage_ = stage::ending;
    fail_unanswered(*done, *why);
  }
  recycle(std::move(done));
  if (!misdirected_.empty() && current && up()) leave_server(std::exchange(misdirected_, {}));
}

void connection::fail_unanswered(batch& lost, failure const& why) {
  for (; lost.told < lost.commands.size(); ++lost.told) {
    auto& one = *lost.commands[lost.told];
    if (!one.open()) continue;
    --outstanding_count_;
    one.fail(why, completion::later);
  }
}

void connection::recycle(batch_ptr used) {
  // Not those that an earlier, larger use has left: a lone command would pay for all of them.
  auto const answered = std::min(used->replies.size(), used->commands.size());
  for (std::size_t i = 0; i < answered; ++i) used->replies[i].trim();
  used->reset();
  if (idle_batches_.size() < max_idle_batches) idle_batches_.push_back(std::move(used));
}

void connection::ask_again(command_ptr one, reply const& answer) {
  if (closed_) return complete_one(std::move(one), answer);
  bundle_.prepare_again(*one, answer);
  one->sent = false;
  waiting_.push_back(std::move(one));
}

void connection::complete_one(command_ptr one, reply const& answer) {
  // Not executed, so it may be sent again: the server was restarted or its scripts flushed.
  bool const unknown = answer.is_error() && is_unknown_script(answer.text());
  if (unknown && one->form == script_form::by_hash && !closed_) {
    one->form = script_form::with_source;
    one->sent = false;
    waiting_.push_back(std::move(one));
    return;
  }
  if (redirected(one, answer)) return;
  --outstanding_count_;
  one->complete(answer);
}

bool connection::redirected(command_ptr& one, reply const& answer) {
  if (!redirects_ || !answer.is_error() || closed_) return false;
  auto const taker = redirector_.lock();
  if (!taker) return false;
  take_off(*one);
  if (taker->redirect(one, answer.text())) return true;
  ++outstanding_count_;
  return false;
}

void connection::cancel(command& what) {
  if (!what.open()) return;
  --outstanding_count_;
  what.fail(how_.failed(errc::canceled, "cancelled by the caller"), completion::later);
  drop_ended();
}

void connection::end_outstanding(failure const& why) {
  while (auto* const one = deadlines_->first()) {
    --outstanding_count_;
    static_cast<command*>(one)->fail(why, completion::later);
  }
}

// Deadlines are in order, so what ended early is at the front before long.
void connection::drop_ended() {
  while (!waiting_.empty() && !waiting_.front()->open()) waiting_.pop_front();
}

// ---------------------------------------------------------------------------------- deadlines

void command::on_due(time_point) { carrier->on_deadline(*this); }

void connection::on_deadline(command& one) {
  auto const self = shared_from_this();
  // One that had little time left when it came here says nothing about the server.
  bool const silent =
      one.sent && !one.short_deadline && up() && one.reads_at_send == transport_->reads();
  --outstanding_count_;
  one.fail(missed_deadline(one), completion::later);
  drop_ended();
  if (!silent) return;
  transport_->forget_unsent();
  lose(how_.failed(errc::unavailable,
                   "the server at " + how_.address() + " hangs: it does not answer"),
       failure_kind::temporary);
}

}  // namespace herdlock::redis
