// A lease store whose every answer is given by the test, by hand.
#pragma once

#include <boost/asio/io_context.hpp>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <herdlock/backend.hpp>
#include <herdlock/open.hpp>

namespace herdlock::scripted {

/// Records requests and keeps their handlers until the test answers them.
class scripted_lease_store : public lease_store {
 public:
  struct acquire_call {
    acquire_request request;
    handler<acquire_reply> done;
  };
  struct renew_call {
    owner_token owner;
    milliseconds ttl;
    handler<renew_reply> done;
  };
  struct release_call {
    owner_token owner;
    handler<release_reply> done;
  };

  struct leave_call {
    leave_request request;
    handler<release_reply> done;
  };

  explicit scripted_lease_store(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  void acquire(acquire_request request, handler<acquire_reply> done) override {
    acquires.push_back({std::move(request), std::move(done)});
  }
  void renew(resource, owner_token owner, milliseconds span, handler<renew_reply> done) override {
    renews.push_back({std::move(owner), span, std::move(done)});
  }
  void release(resource, owner_token owner, handler<release_reply> done) override {
    releases.push_back({std::move(owner), std::move(done)});
  }
  void leave(leave_request request, handler<release_reply> done) override {
    leaves.push_back({std::move(request), std::move(done)});
  }
  void inspect(resource, handler<std::optional<lease_info>> done) override {
    detail::post_result<std::optional<lease_info>>(executor_, std::move(done),
                                                   std::optional<lease_info>{});
  }
  void force_release(resource, handler<release_reply> done) override {
    detail::post_result<release_reply>(executor_, std::move(done), release_reply::lost);
  }
  void list(list_request, handler<lease_page> done) override {
    detail::post_result<lease_page>(executor_, std::move(done), lease_page{});
  }

  bool may_have_sent() const override { return has_server; }

  void on_lease_end(std::function<void(lease_end const&)> told) override {
    tell_end_ = std::move(told);
  }

  void on_new_connection(std::function<void()> told) override {
    tell_new_connection_ = std::move(told);
  }

  /// Another server answers, perhaps.
  void come_up_anew() { asio::post(executor_, tell_new_connection_); }

  /// The session that this lease stood on has ended.
  void end_session_of(resource name, owner_token owner) {
    asio::post(executor_,
               [told = tell_end_, what = lease_end{std::move(name), std::move(owner),
                                                   "its session has ended"}] { told(what); });
  }

  template <class Call, class Reply>
  void answer(std::deque<Call>& calls, Reply reply) {
    if (calls.empty()) throw std::logic_error("the test answers what was not asked");
    auto done = std::move(calls.front().done);
    calls.pop_front();
    detail::dispatch_result(executor_, std::move(done), std::move(reply));
  }
  void grant_next(std::uint64_t fencing) {
    answer(acquires, result<acquire_reply>(acquire_reply(grant{fencing_token{fencing}})));
  }
  void busy_next() { answer(acquires, result<acquire_reply>(acquire_reply(busy{"other", {}}))); }
  void fail_next_acquire(errc why) {
    answer(acquires, result<acquire_reply>(make_failure(why, "scripted")));
  }
  void renew_next(result<renew_reply> reply) { answer(renews, std::move(reply)); }
  void release_next(result<release_reply> reply) { answer(releases, std::move(reply)); }

  void leave_next(result<release_reply> reply) { answer(leaves, std::move(reply)); }

  bool has_server = true;  ///< false: none was ever reached
  std::deque<acquire_call> acquires;
  std::deque<renew_call> renews;
  std::deque<release_call> releases;
  std::deque<leave_call> leaves;

 private:
  asio::any_io_executor executor_;
  std::function<void(lease_end const&)> tell_end_;
  std::function<void()> tell_new_connection_;
};

/// A store over a scripted one, on an io_context that the test runs.
struct scripted_fixture {
  asio::io_context io;
  std::shared_ptr<scripted_lease_store> script;
  std::optional<store> opened;

  explicit scripted_fixture(store_traits traits = {}) {
    auto make = [&](asio::any_io_executor executor) -> result<backend> {
      script = std::make_shared<scripted_lease_store>(executor);
      return backend{script, nullptr, traits, "scripted:"};
    };
    opened = store::over(make, {.executor = io.get_executor()}).value();
  }

  /// Closes the store and lets go of what the test left unanswered.
  ~scripted_fixture() {
    opened.reset();
    settle();
    if (script) {
      script->acquires.clear();
      script->renews.clear();
      script->releases.clear();
      script->leaves.clear();
    }
    settle();
  }
  scripted_fixture(scripted_fixture const&) = delete;
  scripted_fixture& operator=(scripted_fixture const&) = delete;

  /// Runs what is ready.
  void settle() {
    io.restart();
    io.poll();
  }

  /// Runs until the condition holds; false after ten seconds.
  template <class Condition>
  bool run_until(Condition&& holds) {
    auto const deadline = clock::now() + std::chrono::seconds(10);
    while (!holds()) {
      if (clock::now() > deadline) return false;
      io.restart();
      io.run_one_for(std::chrono::milliseconds(100));
    }
    return true;
  }
};

}  // namespace herdlock::scripted
