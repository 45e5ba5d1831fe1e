#include "stores/redis/client/one_shot_client.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
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
    answers = std::move(done->replies);
    io_.stop();
  }
  void end(failure why) {
    if (!ended) ended = std::move(why);
    io_.stop();
  }

  bool ready = false;
  std::optional<std::vector<reply>> answers;
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

  result<std::vector<reply>> ask(settings const& how, std::vector<command_words> const& commands) {
    auto const until = clock::now() + 2 * how.timeout;
    listener_->answers.reset();
    run_until(until, [&] { return listener_->ready; });
    if (listener_->ready && !listener_->ended) {
      auto asked = make_batch();
      for (auto const& words : commands) redis::ask(*asked, words);
      line_->send(std::move(asked));
      run_until(until, [&] { return listener_->answers.has_value(); });
    }
    if (listener_->ended) return *listener_->ended;
    if (listener_->answers) return *std::exchange(listener_->answers, std::nullopt);
    // What comes later would be taken for the answer to the next question.
    listener_->end(make_failure(errc::timed_out, how.address() + " does not answer"));
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
};

asking_client::asking_client(settings const& how) : how_(how) {}
asking_client::~asking_client() = default;

result<std::vector<reply>> asking_client::ask(std::vector<command_words> const& commands) {
  if (!session_) session_ = std::make_unique<session>(how_);
  return session_->ask(how_, commands);
}

wait_end asking_client::wait_until(clock::time_point then) {
  if (!session_) session_ = std::make_unique<session>(how_);
  return session_->wait_until(then);
}

result<std::vector<reply>> ask_once(settings const& how,
                                    std::vector<command_words> const& commands) {
  return asking_client(how).ask(commands);
}

}  // namespace herdlock::redis
