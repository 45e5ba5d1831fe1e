// An election over every store: real time, several candidates.
#include <boost/asio/use_future.hpp>
#include <list>
#include <mutex>

#include "election_candidate.hpp"
#include "fixture.hpp"
#include "support/as_result.hpp"

namespace herdlock_test {
namespace {

class election_contract : public testing::TestWithParam<store_case> {
 protected:
  candidate& add(std::string id, milliseconds ttl = 1min) {
    return all_.emplace_back(open_store(url_), std::move(id), side, ttl);
  }
  // Tokens of the historical protocol have no room for a label.
  static std::string shown(std::string const& id) {
    return GetParam().name == "redis_getset" ? "another client" : id;
  }
  std::optional<lease_info> holder() { return lock(open_store(url_), "job").inspect(); }

  temp_dir scratch_;
  std::string const url_ = GetParam().url(scratch_.path());
  store const keeps_memory_alive_ = open_store(url_);

 public:
  guarded_side side;

 private:
  std::list<candidate> all_;
};

INSTANTIATE_TEST_SUITE_P(stores, election_contract, testing::ValuesIn(all_stores()), case_name);

TEST_P(election_contract, TheLeaderIsSeenByItsIdAndItsTerm) {
  auto& a = add("alice:1");
  a.stand();
  ASSERT_TRUE(eventually([&] { return a.works(); }));
  EXPECT_EQ(a.job().state(), election_state::working);
  auto const seen = holder();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->holder, shown("alice:1"));
  EXPECT_TRUE(a.end());
  EXPECT_FALSE(a.works());
  EXPECT_FALSE(holder());
  EXPECT_EQ(a.job().state(), election_state::idle);
}

// With a ttl of a minute a hand-over that waited for it would not come in time.
TEST_P(election_contract, AResignationHandsOverWithoutWaitingForTheTtl) {
  auto& a = add("a");
  auto& b = add("b");
  a.stand();
  ASSERT_TRUE(eventually([&] { return a.works(); }));
  b.stand();
  for (int i = 0; i < 5; ++i) {
    auto& leader = i % 2 == 0 ? a : b;
    auto& next = i % 2 == 0 ? b : a;
    EXPECT_TRUE(leader.end());
    EXPECT_FALSE(leader.works());
    ASSERT_TRUE(eventually([&] { return next.works(); })) << i;
    leader.stand();
  }
  EXPECT_EQ(side.terms(), 6);
  EXPECT_TRUE(side.clean());
}

TEST_P(election_contract, ACandidateThatResignsWhileItWaitsLeavesNothing) {
  auto& a = add("a");
  auto& b = add("b");
  a.stand();
  ASSERT_TRUE(eventually([&] { return a.works(); }));
  b.stand();
  ASSERT_TRUE(eventually([&] { return b.job().state() == election_state::acquiring; }));
  EXPECT_TRUE(b.end());
  EXPECT_TRUE(a.works());
  EXPECT_TRUE(a.end());
  // A session that waited at the server may have been given the lock in the moment of its end.
  EXPECT_TRUE(eventually([&] { return !holder(); }));
  EXPECT_EQ(side.terms(), 1);
}

// B1, B14: taken away by an operator; the work is told, the candidate stands anew, in a new term.
TEST_P(election_contract, ALostTermStopsTheWorkBeforeTheNextOneIsAskedFor) {
  auto& a = add("a", 2s);
  a.stand();
  ASSERT_TRUE(eventually([&] { return a.works(); }));
  ASSERT_TRUE(lock(a.where(), "job").force_release());
  ASSERT_TRUE(eventually([&] { return a.times(election_event::lost) == 1; }));
  ASSERT_TRUE(eventually([&] { return side.terms() == 2 && a.works(); }));
  EXPECT_EQ(a.times(election_event::stopped), 1);
  EXPECT_TRUE(side.clean());
}

TEST_P(election_contract, AnObserverIsToldOfEachTerm) {
  std::mutex mutex;
  std::vector<std::string> leaders;
  auto const on_change = [&](result<std::optional<leadership>> const& now) {
    std::lock_guard const guard(mutex);
    ASSERT_TRUE(now);
    auto leader = *now ? (*now)->leader : "-";
    // Where nodes' counters differ, a look while votes come or go may be told of another node's.
    bool const same_term =
        GetParam().name == "redlock" && !leaders.empty() && leaders.back() == leader;
    if (!same_term) leaders.push_back(std::move(leader));
    EXPECT_TRUE(!*now || (*now)->since.has_value());
  };
  auto const told = [&](std::size_t n) {
    return eventually([&] {
      std::lock_guard const guard(mutex);
      return leaders.size() >= n;
    });
  };
  auto const watching = observe(open_store(url_), resource("job"), on_change, {.look = 10ms});
  ASSERT_TRUE(told(1));
  auto& a = add("a");
  a.stand();
  ASSERT_TRUE(told(2));
  EXPECT_TRUE(a.end());
  ASSERT_TRUE(told(3));
  std::lock_guard const guard(mutex);
  EXPECT_EQ(leaders, (std::vector<std::string>{"-", shown("a"), "-"}));
}

// Work in a thread of its own, stopped by its token.
TEST_P(election_contract, WorkMayBlockInAThreadOfItsOwn) {
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  auto const work = [&](election_term& term) {
    ++begun;
    EXPECT_TRUE(eventually([&] { return term.stop_token().stop_requested(); }));
    ++ended;
  };
  election job(open_store(url_), resource("job"), {.start_work = in_thread(work)});
  auto campaign = job.async_campaign(as_result(asio::use_future));
  ASSERT_TRUE(eventually([&] { return begun == 1; }));
  EXPECT_EQ(ended, 0);
  job.resign();
  EXPECT_TRUE(campaign.get());
  EXPECT_EQ(ended, 1);
}

}  // namespace
}  // namespace herdlock_test
