#include "stores/redis/redlock/redlock_node.hpp"

#include <boost/asio/post.hpp>

#include "stores/redis/client/server_errors.hpp"
#include "stores/redis/client/server_facts.hpp"

namespace herdlock::redis {
namespace {

constexpr milliseconds retry_pause{500};
constexpr milliseconds next_retry_pause{100};  // where more wait than are tried at once

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
    if (!stale()) return encode_request(verb_, from_->what(), out, how);
    out.request({"PING"});
  }

  void complete(reply const& answer) override {
    if (stale()) return fail(home_->down_, completion::now);
    auto const self = take();
    home_->on_command_over(redlock_node::command_end::answered);
    if (answer.is_error()) {
      return self->on_failed(verb_, home_->index(),
                             server_failure(answer.text(), home_->display_name()),
                             late_grants::none);
    }
    self->on_answer(verb_, home_->index(), answer);
  }

  void fail(failure const& why, completion when) override {
    auto self = take();
    home_->on_command_over(redlock_node::command_end::failed);
    if (when == completion::now) {
      return self->on_failed(verb_, home_->index(), why, late_grants::possible);
    }
    asio::post(home_->wire().executor(),
               [self = std::move(self), verb = verb_, node = home_->index(), why] {
                 self->on_failed(verb, node, why, late_grants::possible);
               });
  }

  bool open() const override { return from_ != nullptr; }

 private:
  bool stale() const { return generation_ != home_->generation_; }
  std::shared_ptr<node_request> take() {
    unlink();
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
  void complete(reply const&) override { end(); }  // without the right to: by NOSCRIPT, as before
  void fail(failure const&, completion) override { end(); }
  bool open() const override { return open_; }

 private:
  void end() {
    unlink();
    open_ = false;
  }
  node_verb verb_;
  bool open_ = true;
};

// Then each connection is asked: what the server is, how long it runs, and its clock. A restart
// ends all connections, so what was seen once holds as long as this one.
class check_command final : public command {
 public:
  explicit check_command(std::shared_ptr<redlock_node> home)
      : home_(std::move(home)), generation_(home_->generation_) {}

  void encode(command_writer& out, script_form) const override { out.request({"INFO", "default"}); }

  void complete(reply const& answer) override {
    unlink();
    open_ = false;
    if (answer.is_error()) {
      return home_->on_checked(server_failure(answer.text(), home_->display_name()), generation_);
    }
    auto const judged =
        home_->check_.verdict_on(std::span(&answer, 1), home_->wire().how().address());
    if (judged.why.code) return home_->on_checked(judged.why, generation_);
    std::int64_t time = -1;
    std::chrono::seconds uptime{0};
    for_each_fact(answer.text(), [&](std::string_view fact, std::string_view value) {
      if (fact == "server_time_usec") time = whole_number<std::int64_t>(value).value_or(-1);
      if (fact == "uptime_in_seconds") {
        uptime = std::chrono::seconds(whole_number<std::int64_t>(value).value_or(0));
      }
    });
    if (auto const owner = home_->owner_.lock(); owner && time > 0) {
      owner->on_node_time(home_->index(), time);
    }
    home_->on_checked(voting_delay::server{home_->check_.facts().run_id, uptime}, generation_);
  }

  void fail(failure const& why, completion) override {
    unlink();
    open_ = false;
    asio::post(home_->wire().executor(), [home = home_, why, generation = generation_] {
      home->on_checked(why, generation);
    });
  }

  bool open() const override { return open_; }

 private:
  std::shared_ptr<redlock_node> home_;
  std::uint64_t generation_;
  bool open_ = true;
};

// Whatever it is answered: the node is alive.
class sign_command final : public command {
 public:
  explicit sign_command(std::shared_ptr<redlock_node> home) : home_(std::move(home)) {}
  void encode(command_writer& out, script_form) const override { out.request({"PING"}); }
  void complete(reply const&) override { end(redlock_node::command_end::answered); }
  void fail(failure const&, completion) override { end(redlock_node::command_end::failed); }
  bool open() const override { return home_ != nullptr; }

 private:
  void end(redlock_node::command_end how) {
    unlink();
    std::exchange(home_, nullptr)->on_command_over(how);
  }
  std::shared_ptr<redlock_node> home_;
};

// ---------------------------------------------------------------------------------- giving back

class redlock_node::pending_release final : public node_request,
                                            public std::enable_shared_from_this<pending_release> {
 public:
  pending_release(node_verb verb, lease_request what, std::shared_ptr<redlock_node> home,
                  late_grants grants)
      : node_request(std::move(what)),
        verb_(verb),
        home_(home),
        until_(clock::now() + pending_for),
        late_grant_possible_(grants == late_grants::possible) {}

  void go() {
    auto const home = home_.lock();
    if (!home || clock::now() >= until_) return;
    if (home->refusal(verb_)) return home->keep_pending(shared_from_this());
    home->send(verb_, shared_from_this());
  }

  void on_answer(node_verb, std::size_t, reply const& answer) override {
    if (answer.number().value_or(0) == 1 || !late_grant_possible_) return;
    if (!repeating_) until_ = clock::now() + repeated_for;
    repeating_ = true;
    if (auto const home = home_.lock()) home->keep_pending(shared_from_this());
  }
  // Of a server that is loading or busy it can be had a little later; what it will never do is not
  // asked again.
  void on_failed(node_verb, std::size_t, failure const& why, late_grants grants) override {
    bool const unknown = grants == late_grants::possible;
    late_grant_possible_ = late_grant_possible_ || unknown;
    auto const home = home_.lock();
    if (home && (unknown || why == errc::unavailable)) home->keep_pending(shared_from_this());
  }

 private:
  node_verb verb_;
  std::weak_ptr<redlock_node> home_;
  clock::time_point until_;
  bool late_grant_possible_;  // a request that grants may still be on its way
  bool repeating_ = false;
};

void redlock_node::give_back(node_verb verb, lease_request what, late_grants grants) {
  if (closed_) return;
  std::make_shared<pending_release>(verb, std::move(what), shared_from_this(), grants)->go();
}

void redlock_node::keep_pending(std::shared_ptr<pending_release> one) {
  if (closed_) return;
  if (pending_releases_.size() >= max_pending_releases) pending_releases_.pop_front();
  pending_releases_.push_back(std::move(one));
  if (ready() && !silent_) retry_after(retry_pause);
}

void redlock_node::retry_after(milliseconds pause) {
  if (std::exchange(retry_planned_, true)) return;
  run_after(retry_timer_, pause, weak_from_this(), [](redlock_node& self) {
    self.retry_planned_ = false;
    if (!self.closed_) self.retry();
  });
}

void redlock_node::retry() {
  if (!ready() || silent_) return;
  for (auto left = std::min(pending_releases_.size(), max_retried_at_once);
       left > 0 && !pending_releases_.empty(); --left) {
    auto const one = std::move(pending_releases_.front());
    pending_releases_.pop_front();
    one->go();
  }
  if (!pending_releases_.empty()) retry_after(next_retry_pause);
}

// ---------------------------------------------------------------------------------- the node

redlock_node::redlock_node(asio::any_io_executor const& executor, settings const& how,
                           std::size_t index, std::shared_ptr<store_warnings> warnings)
    : connection_(std::make_shared<connection>(executor, how)),
      index_(index),
      check_(how, std::move(warnings)),
      retry_timer_(executor) {
  down_ = make_failure(errc::unavailable, display_name() + ": not connected yet");
  silent_why_ =
      make_failure(errc::timed_out, display_name() + ": the server hangs: it does not answer");
}

void redlock_node::open(std::weak_ptr<node_listener> owner, milliseconds restart_delay) {
  owner_ = std::move(owner);
  voting_.begin(restart_delay, display_name());
  connection_->attach(weak_from_this());
  connection_->open();
}

void redlock_node::close() {
  closed_ = true;
  pending_releases_.clear();
  retry_timer_.cancel();
  connection_->close();
}

failure const* redlock_node::refusal(node_verb verb) const {
  if (state_ != state::ready) return &down_;
  if (silent_ || backlog_ >= max_node_backlog) return &silent_why_;
  if (verb != node_verb::acquire) return nullptr;
  return voting_.refusal(std::chrono::steady_clock::now());
}

void redlock_node::send(node_verb verb, std::shared_ptr<node_request> from) {
  ++backlog_;
  connection_->submit(std::make_unique<node_command>(verb, std::move(from), shared_from_this()));
}

// A sign of life is asked for when nothing that is under way could end its silence any more:
//   1. a request is not answered in time, and nobody asks the node meanwhile;
//   2. its deadline passes. Since it was sent something was read, so the connection is kept;
//   3. the answer comes, and nobody waits for it. Without a sign the node would be left out, and
//      keep what is to be given back, for as long as the connection lives.
void redlock_node::on_command_over(command_end how) {
  --backlog_;
  if (how == command_end::answered) {
    // Later: this may be inside the answer to a pending release.
    bool const owes = !pending_releases_.empty() && !closed_;
    if (std::exchange(silent_, false) && owes) retry_after(milliseconds{0});
    return;
  }
  if (!silent_ || backlog_ > 0) return;
  asio::post(connection_->executor(), [weak = weak_from_this()] {
    auto const self = weak.lock();
    if (!self || self->closed_ || !self->ready() || !self->silent_ || self->backlog_ > 0) return;
    ++self->backlog_;
    self->connection_->submit(std::make_unique<sign_command>(self));
  });
}

void redlock_node::note_silence() {
  if (backlog_ > 0) silent_ = true;
}

void redlock_node::on_connection_up() {
  ++generation_;
  silent_ = false;
  if (closed_) return;
  if (state_ != state::opening) state_ = state::checking;
  for (auto const verb : all_node_verbs) connection_->submit(std::make_unique<load_command>(verb));
  connection_->submit(std::make_unique<check_command>(shared_from_this()));
}

void redlock_node::on_connection_down() {
  ++generation_;
  silent_ = false;
  if (closed_) return;
  voting_.lost(std::chrono::steady_clock::now());
  if (failure const why = connection_->last_failure(); why.code) down_ = why;
  become(state::down);
}

void redlock_node::on_checked(result<voting_delay::server> found, std::uint64_t generation) {
  if (closed_ || generation != generation_) return;
  if (found.has_error()) {
    down_ = found.error();
    become(state::down);
    return connection_->leave(down_);  // the next connection is asked again
  }
  voting_.met(*found, std::chrono::steady_clock::now());
  if (auto const owner = owner_.lock()) owner->on_node_server(index_, found->run_id);
  become(state::ready);
  if (auto const owner = owner_.lock()) owner->on_node_ready();
  retry();
}

void redlock_node::become(state to) {
  bool const first = state_ == state::opening;
  state_ = to;
  auto const owner = owner_.lock();
  if (first && owner) owner->on_node_known();
}

}  // namespace herdlock::redis
