// B33: each asynchronous call is work for the executor of its handler until that is called. The
// user's io_context runs on, although all that is done meanwhile is done elsewhere. Every async_
// function of the public headers is in the table below; tests/style sees to it.
#include <gtest/gtest.h>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <herdlock/herdlock.hpp>
#include <map>
#include <optional>
#include <string>
#include <support/eventually.hpp>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace herdlock;

using loaded_text = std::optional<std::string>;
using loaded_texts = std::map<std::string, std::string>;

// A handler of whatever there is.
struct completion_note {
  int* calls;
  template <class... Results>
  void operator()(Results const&...) const {
    ++*calls;
  }
};

// What the calls are made on. All of it runs on `own`, which nobody runs at first.
struct called_objects {
  explicit called_objects(asio::io_context& own)
      : opened(open_store("memory:", {.executor = own.get_executor()})),
        where(opened, "stock"),
        values(opened),
        mutex({.executor = own.get_executor()}),
        flights(own.get_executor()),
        job(opened, "job", {.start_work = [this](election_term&) { return resigning(); }}),
        key(mutex.lock("key")) {}

  asio::awaitable<void> resigning() {
    job.resign();
    co_return;
  }

  store opened;
  lock where;
  std::optional<lease> held;
  cache<std::string> values;
  keyed_mutex mutex;
  single_flight<int> flights;
  election job;
  keyed_mutex::guard key;
};

class AsyncWorkTest : public testing::Test {
 protected:
  AsyncWorkTest() {
    of->where.async_try_acquire(
        {.ttl = 1h}, [this](failure const&, acquired got) { of->held = std::move(got); });
    EXPECT_TRUE(herdlock_test::eventually([this] {
      own.restart();
      own.poll();
      return of->held.has_value();
    }));
  }
  ~AsyncWorkTest() override {
    of.reset();
    own.restart();
    own.run_for(10s);
  }

  auto note() { return asio::bind_executor(io, completion_note{&calls}); }

  asio::io_context io;   // the user's
  asio::io_context own;  // that of the store, the mutex and the flights
  std::optional<called_objects> of{own};
  int calls = 0;
};

asio::awaitable<loaded_text> load_one(load_context const&) { co_return loaded_text("loaded"); }
asio::awaitable<loaded_texts> load_many(std::vector<std::string> const&) {
  co_return loaded_texts();
}
asio::awaitable<int> fly_once() { co_return 1; }
asio::awaitable<void> work_briefly(lease&) { co_return; }

using noting = decltype(asio::bind_executor(std::declval<asio::io_context&>(), completion_note{}));

struct async_call {
  std::string name;
  std::function<void(called_objects&, noting)> start;
};

std::vector<async_call> calls_for_leases() {
  return {
      {"async_acquire", [](auto& o, auto n) { o.where.async_acquire({.wait = 1ms}, n); }},
      {"async_try_acquire", [](auto& o, auto n) { o.where.async_try_acquire({}, n); }},
      {"async_restore",
       [](auto& o, auto n) {
         lease_ticket const ticket{o.where.name(), owner_token::generate(), fencing_token{1}, 1s};
         o.where.async_restore(ticket, {}, n);
       }},
      {"async_inspect", [](auto& o, auto n) { o.where.async_inspect(n); }},
      {"async_wait_lost",
       [](auto& o, auto n) {
         o.held->async_wait_lost(n);
         o.held->async_release([](failure const&, release_reply) {});
       }},
      {"async_renew", [](auto& o, auto n) { o.held->async_renew(n); }},
      {"async_release", [](auto& o, auto n) { o.held->async_release(n); }},
      {"async_leave", [](auto& o, auto n) { o.held->async_leave(1min, left_as::held, n); }},
      {"async_with",
       [](auto& o, auto n) {
         lock const other(o.opened, "other");
         asio::co_spawn(n.get_executor(), async_with(other, acquire_options{}, &work_briefly), n);
       }},
      {"async_list", [](auto& o, auto n) { o.opened.async_list({}, n); }},
      {"async_close", [](auto& o, auto n) { o.opened.async_close(n); }},
      {"async_campaign", [](auto& o, auto n) { o.job.async_campaign(n); }},
      {"async_resign", [](auto& o, auto n) { o.job.async_resign(n); }},
      {"async_observe",
       [](auto& o, auto n) { async_observe(o.opened, "none", leadership{}, {}, n); }},
      {"async_lock",
       [](auto& o, auto n) {
         o.mutex.async_lock("key", n);
         asio::post(o.mutex.get_executor(), [&o] { o.key.unlock(); });
       }},
      {"async_run", [](auto& o, auto n) { o.flights.async_run("key", &fly_once, n); }},
      {"async_run_and_tell",
       [](auto& o, auto n) { o.flights.async_run_and_tell("key", &fly_once, n); }},
  };
}

std::vector<async_call> calls_for_values() {
  return {
      {"async_get", [](auto& o, auto n) { o.values.async_get("k", n); }},
      {"async_look", [](auto& o, auto n) { o.values.async_look("k", n); }},
      {"async_put", [](auto& o, auto n) { o.values.async_put("k", "v", n); }},
      {"async_invalidate", [](auto& o, auto n) { o.values.async_invalidate("k", n); }},
      {"async_expire", [](auto& o, auto n) { o.values.async_expire("k", n); }},
      {"async_get_or_load", [](auto& o, auto n) { o.values.async_get_or_load("k", &load_one, n); }},
      {"async_load_now", [](auto& o, auto n) { o.values.async_load_now("k", &load_one, n); }},
      {"async_get_or_load_shared",
       [](auto& o, auto n) { o.values.async_get_or_load_shared("k", &load_one, n); }},
      {"async_get_many_or_load",
       [](auto& o, auto n) { o.values.async_get_many_or_load({"k"}, &load_many, n); }},
      {"async_fence", [](auto& o, auto n) { o.values.async_fence(n); }},
      {"async_drop_kept", [](auto& o, auto n) { o.values.async_drop_kept(n); }},
      {"async_invalidate_tag", [](auto& o, auto n) { o.values.async_invalidate_tag("t", n); }},
      {"async_expire_tag", [](auto& o, auto n) { o.values.async_expire_tag("t", n); }},
      {"async_clear", [](auto& o, auto n) { o.values.async_clear(n); }},
      {"async_read_hot_rules", [](auto& o, auto n) { async_read_hot_rules(o.opened, "p:", n); }},
      {"async_change_hot_rules",
       [](auto& o, auto n) {
         async_change_hot_rules(
             o.opened, "p:", [](auto&) {}, n);
       }},
      {"async_count_rule_listeners",
       [](auto& o, auto n) { async_count_rule_listeners(o.opened, "p:", n); }},
  };
}

std::vector<async_call> all_calls() {
  auto all = calls_for_leases();
  for (auto& each : calls_for_values()) all.push_back(std::move(each));
  return all;
}

class AsyncWork : public AsyncWorkTest, public testing::WithParamInterface<async_call> {};

INSTANTIATE_TEST_SUITE_P(, AsyncWork, testing::ValuesIn(all_calls()),
                         [](auto const& one) { return one.param.name; });

// The first look is the one that fails without the work: nothing of the call has been done then,
// and nobody but it keeps `io` running.
TEST_P(AsyncWork, RunDoesNotReturnBeforeTheCompletion) {
  ASSERT_TRUE(of->held);
  GetParam().start(*of, note());
  io.poll();
  ASSERT_FALSE(io.stopped()) << "io.run() would have returned";
  EXPECT_EQ(calls, 0);
  own.restart();
  auto stays = asio::make_work_guard(own);
  std::jthread const runs_own([this] { own.run(); });
  io.run_for(20s);
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(io.stopped()) << "the work was not given back";
  stays.reset();
  own.stop();
}

TEST_F(AsyncWorkTest, AHandlerThatIsDroppedUncalledIsNoWorkAnyMore) {
  handler<void> kept;
  auto keep = [&](handler<void> h) { kept = std::move(h); };
  detail::initiate<void>(own.get_executor(), keep, note());
  io.poll();
  EXPECT_FALSE(io.stopped());
  kept = {};
  io.poll();
  EXPECT_TRUE(io.stopped());
  EXPECT_EQ(calls, 0);
}

// A store that closes may leave such a handler behind in an object that outlives its executor.
TEST_F(AsyncWorkTest, AHandlerOnTheExecutorOfTheOperationIsNoWorkOfItsOwn) {
  asio::io_context both;
  handler<void> kept;
  auto keep = [&](handler<void> h) { kept = std::move(h); };
  detail::initiate<void>(both.get_executor(), keep,
                         asio::bind_executor(both, completion_note{&calls}));
  both.poll();
  EXPECT_TRUE(both.stopped());
  detail::initiate<void>(both.get_executor(), keep, completion_note{&calls});
  both.restart();
  both.poll();
  EXPECT_TRUE(both.stopped());
}

}  // namespace
