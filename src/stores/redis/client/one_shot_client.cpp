#include "stores/redis/client/one_shot_client.hpp"

#include <boost/asio/io_context.hpp>
#include <deque>
#include <optional>
#include <utility>

#include "stores/redis/client/raw_command.hpp"
#include "stores/redis/client/transport.hpp"

namespace herdlock::redis {
namespace {

class asking_listener final : public transport_listener {
 public:
  explicit asking_listener(asio::io_context& io) : io_(io) {}

  void on_ready(transport&) override {
    ready = true;
    io_.stop();
  }
  void on_ended(transport&, failure why, failure_kind) override { end(std::move(why)); }
  void on_batch(transport&, batch_ptr done, failure const* why) override {
    if (why) return end(*why);
    done->replies.resize(done->commands.size());
    answers.push_back(std::move(done->replies));
    io_.stop();
  }
  void end(failure why) {
    if (!ended) ended = std::move(why);
    io_.stop();
  }

  bool ready = false;
  std::deque<std::vector<reply>> answers;
  std::optional<failure> ended;

 private:
  asio::io_context& io_;
};

}  // namespace

class asking_client::session {
 public:
  explicit session(settings const& how)
      : listener_(std::make_shared<asking_listener>(io_)),
        line_(transport::start(io_.get_executor(), how, listener_)) {}
  ~session() {
    line_->stop();
    // What it has under way ends with the next turns.
    io_.restart();
    io_.run_for(milliseconds{200});
  }
  session(session const&) = delete;
  session& operator=(session const&) = delete;

  void send(settings const& how, batch_ptr asked) {
    until_ = clock::now() + 2 * how.timeout;
    run_until(until_, [&] { return listener_->ready; });
    if (!listener_->ready || listener_->ended) return;
    line_->send(std::move(asked));
  }

  result<std::vector<reply>> next(settings const& how) {
    run_until(until_, [&] { return !listener_->answers.empty(); });
    if (!listener_->answers.empty()) {
      auto first = std::move(listener_->answers.front());
      listener_->answers.pop_front();
      return first;
    }
    // What comes later would be taken for the answer to the next question.
    if (!listener_->ended) {
      listener_->end(make_failure(errc::timed_out, how.address() + " does not answer"));
    }
    return *listener_->ended;
  }

  wait_end wait_until(clock::time_point then) {
    run_until(then, [] { return false; });
    return listener_->ended ? wait_end::lost : wait_end::in_time;
  }

 private:
  template <class Condition>
  void run_until(clock::time_point then, Condition holds) {
    while (!listener_->ended && !holds()) {
      auto const left = then - clock::now();
      if (left <= clock::duration::zero()) return;
      io_.restart();
      io_.run_for(left);
    }
  }

  asio::io_context io_;
  std::shared_ptr<asking_listener> listener_;
  std::shared_ptr<transport> line_;
  clock::time_point until_{};
};

asking_client::asking_client(settings const& how) : how_(how) {}
asking_client::~asking_client() = default;

asking_client::session& asking_client::connected() {
  if (!session_) session_ = std::make_unique<session>(how_);
  return *session_;
}

void asking_client::send(batch_ptr asked) { connected().send(how_, std::move(asked)); }

result<std::vector<reply>> asking_client::next() { return connected().next(how_); }

result<std::vector<reply>> asking_client::ask(std::vector<command_words> const& commands) {
  auto asked = make_batch();
  for (auto const& words : commands) redis::ask(*asked, words);
  send(std::move(asked));
  return next();
}

wait_end asking_client::wait_until(clock::time_point then) { return connected().wait_until(then); }

result<std::vector<reply>> ask_once(settings const& how,
                                    std::vector<command_words> const& commands) {
  return asking_client(how).ask(commands);
}

}  // namespace herdlock::redis
