#include "stores/redis/redlock/redlock_node.hpp"

#include <boost/asio/post.hpp>

#include "stores/redis/client/server_errors.hpp"

namespace herdlock::redis {
namespace {

constexpr milliseconds pay_again{500};
constexpr milliseconds pay_on{100};  // where more is owed than is paid at once

std::int64_t number_after(std::string_view text, std::string_view label) {
  auto const at = text.find(label);
  if (at == std::string_view::npos) return -1;
  auto const digits = text.substr(at + label.size());
  std::int64_t value = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

}  // namespace

// ---------------------------------------------------------------------------------- commands

class node_command final : public command {
 public:
  node_command(node_verb verb, std::shared_ptr<node_request> from,
               std::shared_ptr<redlock_node> home)
      : verb_(verb),
        from_(std::move(from)),
        home_(std::move(home)),
        generation_(home_->generation_) {}

  void encode(command_writer& out, script_form how) const override {
    if (!stale()) return encode_question(verb_, from_->question(), out, how);
    out.begin("PING");
    out.add("stale");  // Boost.Redis leaves out what has no argument
    out.end();
  }

  void finish(reply const& answer) override {
    if (stale()) return fail(home_->down_, completion::now);
    auto const self = take();
    home_->on_command_over(redlock_node::command_end::answered);
    if (answer.is_error()) {
      return self->on_refused(verb_, home_->index(), server_failure(answer.text(), home_->place()));
    }
    self->on_answer(verb_, home_->index(), answer);
  }

  void fail(failure const& why, completion when) override {
    auto self = take();
    home_->on_command_over(redlock_node::command_end::failed);
    if (when == completion::now) return self->on_no_answer(verb_, home_->index(), why);
    asio::post(home_->connection().executor(),
               [self = std::move(self), verb = verb_, node = home_->index(), why] {
                 self->on_no_answer(verb, node, why);
               });
  }

  bool open() const override { return from_ != nullptr; }

 private:
  bool stale() const { return generation_ != home_->generation_; }
  std::shared_ptr<node_request> take() {
    outstanding.unlink();
    return std::exchange(from_, nullptr);
  }

  node_verb verb_;
  std::shared_ptr<node_request> from_;
  std::shared_ptr<redlock_node> home_;
  std::uint64_t generation_;
};

// A script that the server does not know is sent a second time, behind what was asked meanwhile: a
// release would come after the next holder's request. So all are made known first.
class load_command final : public command {
 public:
  explicit load_command(node_verb verb) : verb_(verb) {}
  void encode(command_writer& out, script_form) const override { encode_load(verb_, out); }
  void finish(reply const&) override { end(); }  // without the right to: by NOSCRIPT, as before
  void fail(failure const&, completion) override { end(); }
  bool open() const override { return open_; }

 private:
  void end() {
    outstanding.unlink();
    open_ = false;
  }
  node_verb verb_;
  bool open_ = true;
};

// Then each connection is asked: what the server is, how long it runs, and its clock. A restart
// ends all connections, so what was seen once holds as long as this one.
class vetting_command final : public command {
 public:
  explicit vetting_command(std::shared_ptr<redlock_node> home)
      : home_(std::move(home)), generation_(home_->generation_) {}

  void encode(command_writer& out, script_form) const override {
    out.begin("INFO");
    out.add("default");
    out.end();
  }

  void finish(reply const& answer) override {
    outstanding.unlink();
    open_ = false;
    if (answer.is_error()) {
      return home_->on_vetted(server_failure(answer.text(), home_->place()), generation_);
    }
    auto const judged =
        home_->exam_.judge(std::span(&answer, 1), home_->connection().how().place());
    if (judged.why.code) return home_->on_vetted(judged.why, generation_);
    auto const time = number_after(answer.text(), "\nserver_time_usec:");
    if (auto const owner = home_->owner_.lock(); owner && time > 0) {
      owner->on_node_time(home_->index(), time);
    }
    home_->on_vetted(number_after(answer.text(), "\nuptime_in_seconds:"), generation_);
  }

  void fail(failure const& why, completion) override {
    outstanding.unlink();
    open_ = false;
    asio::post(home_->connection().executor(),
               [home = home_, why, generation = generation_] { home->on_vetted(why, generation); });
  }

  bool open() const override { return open_; }

 private:
  std::shared_ptr<redlock_node> home_;
  std::uint64_t generation_;
  bool open_ = true;
};

// ---------------------------------------------------------------------------------- giving back

class redlock_node::owed_release final : public node_request,
                                         public std::enable_shared_from_this<owed_release> {
 public:
  owed_release(node_verb verb, lease_question what, std::shared_ptr<redlock_node> home,
               late_grants grants)
      : node_request(std::move(what)),
        verb_(verb),
        home_(home),
        until_(clock::now() + owed_for),
        doubtful_(grants == late_grants::possible) {}

  void go() {
    auto const home = home_.lock();
    if (!home || clock::now() >= until_) return;
    if (home->refusal(verb_)) return home->owe(shared_from_this());
    home->send(verb_, shared_from_this());
  }

  void on_answer(node_verb, std::size_t, reply const& answer) override {
    if (answer.number().value_or(0) == 1 || !doubtful_) return;
    if (!settling_) until_ = clock::now() + settled_after;
    settling_ = true;
    if (auto const home = home_.lock()) home->owe(shared_from_this());
  }
  // Of a server that is loading or busy it can be had a little later; what it will never do is not
  // asked again.
  void on_refused(node_verb, std::size_t, failure const& why) override {
    auto const home = home_.lock();
    if (home && why == errc::unavailable) home->owe(shared_from_this());
  }
  void on_no_answer(node_verb, std::size_t, failure const&) override {
    doubtful_ = true;
    if (auto const home = home_.lock()) home->owe(shared_from_this());
  }

 private:
  node_verb verb_;
  std::weak_ptr<redlock_node> home_;
  clock::time_point until_;
  bool doubtful_;  // a request that grants may still be on its way
  bool settling_ = false;
};

void redlock_node::give_back(node_verb verb, lease_question what, late_grants grants) {
  if (closed_) return;
  std::make_shared<owed_release>(verb, std::move(what), shared_from_this(), grants)->go();
}

void redlock_node::owe(std::shared_ptr<owed_release> one) {
  if (closed_) return;
  if (owed_.size() >= max_owed_releases) owed_.pop_front();
  owed_.push_back(std::move(one));
  if (ready() && !silent_) pay_after(pay_again);
}

void redlock_node::pay_after(milliseconds pause) {
  if (std::exchange(paying_later_, true)) return;
  pay_timer_.expires_after(pause);
  pay_timer_.async_wait([weak = weak_from_this()](boost::system::error_code) {
    auto const self = weak.lock();
    if (!self) return;
    self->paying_later_ = false;
    if (!self->closed_) self->pay();
  });
}

void redlock_node::pay() {
  if (!ready() || silent_) return;
  for (auto left = std::min(owed_.size(), max_paid_at_once); left > 0 && !owed_.empty(); --left) {
    auto const one = std::move(owed_.front());
    owed_.pop_front();
    one->go();
  }
  if (!owed_.empty()) pay_after(pay_on);
}

// ---------------------------------------------------------------------------------- the node

redlock_node::redlock_node(asio::any_io_executor const& executor, settings const& how,
                           std::size_t index, std::shared_ptr<store_warnings> warnings)
    : link_(std::make_shared<link>(executor, how)),
      index_(index),
      exam_(how, std::move(warnings)),
      pay_timer_(executor) {
  down_ = make_failure(errc::unavailable, place() + ": not connected yet");
  silent_why_ = make_failure(errc::timed_out, place() + ": the server hangs: it does not answer");
}

void redlock_node::open(std::weak_ptr<node_owner> owner, milliseconds restart_delay) {
  owner_ = std::move(owner);
  restart_delay_ = restart_delay;
  link_->open(weak_from_this());
}

void redlock_node::close() {
  closed_ = true;
  owed_.clear();
  pay_timer_.cancel();
  link_->close();
}

failure const* redlock_node::refusal(node_verb verb) const {
  if (state_ != state::ready) return &down_;
  if (silent_ || backlog_ >= max_node_backlog) return &silent_why_;
  bool const grants = verb == node_verb::acquire;
  if (grants && restarted_.code && std::chrono::steady_clock::now() < votes_from_) {
    return &restarted_;
  }
  return nullptr;
}

void redlock_node::send(node_verb verb, std::shared_ptr<node_request> from) {
  ++backlog_;
  link_->submit(std::make_unique<node_command>(verb, std::move(from), shared_from_this()));
}

void redlock_node::on_command_over(command_end how) {
  --backlog_;
  if (how == command_end::failed || !std::exchange(silent_, false)) return;
  // Later: this may be inside the answer to one of those that are owed.
  if (!owed_.empty() && !closed_) pay_after(milliseconds{0});
}

void redlock_node::note_silence() {
  if (backlog_ > 0) silent_ = true;
}

void redlock_node::on_link_up() {
  ++generation_;
  silent_ = false;
  if (closed_) return;
  if (state_ != state::opening) state_ = state::vetting;
  for (auto const verb : all_node_verbs) link_->submit(std::make_unique<load_command>(verb));
  link_->submit(std::make_unique<vetting_command>(shared_from_this()));
}

void redlock_node::on_link_down() {
  ++generation_;
  silent_ = false;
  if (closed_) return;
  if (failure const why = link_->trouble(); why.code) down_ = why;
  settle(state::down);
}

void redlock_node::on_vetted(result<std::int64_t> uptime, std::uint64_t generation) {
  if (closed_ || generation != generation_) return;
  if (uptime.has_error()) {
    down_ = uptime.error();
    settle(state::down);
    return link_->leave(down_);  // the next connection is asked again
  }
  auto const runs_for = std::chrono::seconds(std::max<std::int64_t>(*uptime, 0));
  restarted_ = {};
  if (runs_for < restart_delay_) {
    // The clocks of two machines: a hundredth more.
    auto const rest = restart_delay_ - runs_for;
    votes_from_ = std::chrono::steady_clock::now() + rest + rest / 100;
    restarted_ = make_failure(
        errc::unavailable,
        place() + ": it was started " + std::to_string(runs_for.count()) +
            " s ago and grants nothing until it has run for the restart_delay of " +
            std::to_string(restart_delay_.count()) + " ms, because it may have forgotten leases");
  }
  settle(state::ready);
  pay();
}

void redlock_node::settle(state to) {
  bool const first = state_ == state::opening;
  state_ = to;
  auto const owner = owner_.lock();
  if (first && owner) owner->on_node_settled();
}

}  // namespace herdlock::redis
