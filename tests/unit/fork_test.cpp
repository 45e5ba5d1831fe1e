// A child of fork() and the handles that it has inherited.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <functional>
#include <future>
#include <herdlock/herdlock.hpp>
#include <herdlock/hot_rules.hpp>
#include <optional>
#include <thread>
#include <tuple>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace herdlock;

bool is_refused(std::function<void()> const& call) {
  try {
    call();
  } catch (error const& e) {
    return e.code() == make_error_code(errc::forked);
  }
  return false;
}

// What is false in a child says so on standard error, where no test program writes meanwhile.
class child_checks {
 public:
  void expect(bool holds, char const* what) {
    if (holds) return;
    std::fprintf(stderr, "in the child: %s\n", what);
    ok_ = false;
  }
  bool ok() const { return ok_; }

 private:
  bool ok_ = true;
};

class Fork : public testing::Test {
 protected:
  // Runs it in a child; true when all that it expected was so, and it ended.
  static bool in_a_child(std::function<void(child_checks&)> const& body) {
    pid_t const child = ::fork();
    if (child == 0) {
      ::alarm(20);  // a call that waits for ever ends the child, not the test
      child_checks checks;
      body(checks);
      ::_exit(checks.ok() ? 0 : 1);
    }
    int status = -1;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

  std::optional<store> opened = open_store("memory:");
  std::optional<lock> where{std::in_place, *opened, "stock"};
};

TEST_F(Fork, EachBlockingCallIsRefused) {
  auto held = where->try_acquire({.ttl = 1h});
  ASSERT_TRUE(held);
  cache<std::string> const values(*opened, {.prefix = "v:"});
  election job(*opened, "job", {.start_work = in_thread([](election_term&) {})});
  EXPECT_TRUE(in_a_child([&](child_checks& c) {
    c.expect(is_refused([&] { std::ignore = where->try_acquire(); }), "try_acquire");
    c.expect(is_refused([&] { std::ignore = where->inspect(); }), "inspect");
    c.expect(is_refused([&] { where->force_release(); }), "force_release");
    c.expect(is_refused([&] { std::ignore = opened->list(); }), "list");
    c.expect(is_refused([&] { opened->close(); }), "close");
    c.expect(is_refused([&] { held->renew(); }), "renew");
    c.expect(is_refused([&] { held->release(); }), "release");
    c.expect(is_refused([&] { std::ignore = std::move(*held).detach(); }), "detach");
    c.expect(is_refused([&] { job.campaign(); }), "campaign");
    c.expect(is_refused([&] { values.put("k", "v"); }), "put");
    c.expect(is_refused([&] { std::ignore = values.get("k"); }), "get");
    c.expect(is_refused([&] { values.get_or_load("k", [] { return std::string(); }); }), "load");
    c.expect(is_refused([&] { values.invalidate("k"); }), "invalidate");
    c.expect(is_refused([&] { values.pin("k"); }), "pin");
    c.expect(is_refused([&] { cache<int>(*opened, {.prefix = "w:"}); }), "making a cache");
    c.expect(is_refused([&] { std::ignore = read_hot_rules(*opened, "v:"); }), "rules");
    c.expect(is_refused([&] { std::ignore = observe(*opened, "job", [](auto const&) {}); }),
             "observe");
  }));
  EXPECT_EQ(held->release(), release_reply::released);
}

// The thread sanitizer ends a child of a process with threads that starts one itself.
#ifndef __SANITIZE_THREAD__

TEST_F(Fork, EachAsynchronousCallIsAnswered) {
  auto held = where->try_acquire({.ttl = 1h});
  ASSERT_TRUE(held);
  cache<std::string> const values(*opened, {.prefix = "v:"});
  election job(*opened, "job", {.start_work = in_thread([](election_term&) {})});
  EXPECT_TRUE(in_a_child([&](child_checks& c) {
    auto const refused = [&](char const* what, auto start) {
      std::promise<failure> told;
      start([&](failure why, auto&&...) { told.set_value(std::move(why)); });
      c.expect(told.get_future().get() == errc::forked, what);
    };
    refused("acquire", [&](auto done) { where->async_acquire({}, done); });
    refused("list", [&](auto done) { opened->async_list({}, done); });
    refused("close", [&](auto done) { opened->async_close(done); });
    refused("wait_lost", [&](auto done) { held->async_wait_lost(done); });
    refused("release", [&](auto done) { held->async_release(done); });
    refused("campaign", [&](auto done) { job.async_campaign(done); });
    refused("resign", [&](auto done) { job.async_resign(done); });
    refused("put", [&](auto done) { values.async_put("k", "v", done); });
    refused("get", [&](auto done) { values.async_get("k", done); });
    refused("observe", [&](auto done) { async_observe(*opened, "job", {}, {}, done); });

    asio::io_context io;  // of the child: the handler is called by whoever runs it
    std::thread::id by;
    auto const done = [&](failure const&, acquired const&) { by = std::this_thread::get_id(); };
    auto const work = asio::make_work_guard(io);
    where->async_acquire({}, asio::bind_executor(io, done));
    while (by == std::thread::id()) io.run_one();
    c.expect(by == std::this_thread::get_id(), "a handler with an executor of its own");
  }));
  EXPECT_EQ(held->release(), release_reply::released);
}

// The library's part of the process is as new, whatever the parent's threads were at.
TEST_F(Fork, AChildOpensAStoreOfItsOwn) {
  auto const named = open_store("memory:forked");
  auto const held = lock(named, "stock").try_acquire();
  ASSERT_TRUE(held);
  EXPECT_TRUE(in_a_child([&](child_checks& c) {
    auto mine = lock(open_store("memory:forked"), "stock").try_acquire();
    c.expect(mine && mine->valid(), "a lease in memory of its own");
    c.expect(mine && mine->release() == release_reply::released, "its release");
  }));
}

#endif

TEST_F(Fork, TheChildHasNoLeaseAndLeadsNothing) {
  auto held = where->try_acquire({.ttl = 1h});
  ASSERT_TRUE(held);
  EXPECT_TRUE(in_a_child([&](child_checks& c) {
    c.expect(!held->valid(), "valid()");
    c.expect(held->remaining() == 0ms, "remaining()");
    c.expect(held->lost_token().stop_requested(), "lost_token()");
    c.expect(held->lost_reason() == errc::forked, "lost_reason()");
  }));
  EXPECT_TRUE(held->valid());
  EXPECT_FALSE(held->lost_token().stop_requested());
}

TEST_F(Fork, HandlesThatGoInTheChildStayWithTheParent) {
  auto held = where->try_acquire({.ttl = 1h});
  ASSERT_TRUE(held);
  std::optional<cache<std::string>> values(std::in_place, *opened, cache_options{.prefix = "v:"});
  std::promise<void> leads;
  std::optional<election> job(std::in_place, *opened, "job",
                              election_services{.start_work = in_thread([&](election_term& term) {
                                                  leads.set_value();
                                                  std::promise<void> over;
                                                  std::stop_callback const at_end(
                                                      term.stop_token(), [&] { over.set_value(); });
                                                  over.get_future().wait();
                                                })});
  job->async_campaign([](failure const&) {});
  leads.get_future().wait();
  std::optional<observation> watch(observe(*opened, "job", [](auto const&) {}));
  EXPECT_TRUE(in_a_child([&](child_checks& c) {
    c.expect(job->state() == election_state::idle, "state()");
    watch.reset();
    job.reset();
    values.reset();
    held.reset();
    where.reset();
    opened.reset();
  }));
  EXPECT_EQ(job->state(), election_state::working);
  EXPECT_EQ(held->release(), release_reply::released);
}

TEST_F(Fork, OnAnExecutorOfTheUsersACallIsRefusedAtOnce) {
  asio::io_context io;
  {
    lock const here(open_store("memory:", {.executor = io.get_executor()}), "stock");
    EXPECT_TRUE(in_a_child([&](child_checks& c) {
      c.expect(is_refused([&] { std::ignore = here.try_acquire(); }), "try_acquire");
    }));
  }
  io.run();
}

TEST_F(Fork, OnTheStoresOwnThreadIsNoBrokenPreconditionInTheChild) {
  std::promise<bool> refused;
  asio::post(opened->get_executor(), [&] {
    refused.set_value(in_a_child([&](child_checks& c) {
      c.expect(is_refused([&] { std::ignore = where->try_acquire(); }), "try_acquire");
    }));
  });
  EXPECT_TRUE(refused.get_future().get());
}

}  // namespace
