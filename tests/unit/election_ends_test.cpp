// How a campaign ends that its caller does not want any more: close, and a stop token.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <herdlock/election.hpp>
#include <herdlock/lock.hpp>
#include <herdlock/metrics.hpp>
#include <optional>
#include <support/eventually.hpp>
#include <thread>

#include "scripted_lease_store.hpp"
#include "support/as_result.hpp"

namespace herdlock::scripted {
namespace {

using namespace std::chrono_literals;

// A candidate whose work goes on until it is told to stop, over a store that the test answers for.
class ElectionEnds : public ::testing::Test {
 protected:
  using ending = std::optional<result<void>>;

  void stand(ending& ended) {
    job->async_campaign(
        herdlock_test::as_result([&ended](result<void> r) { ended.emplace(std::move(r)); }));
  }
  bool leads() {
    if (!f.run_until([&] { return !f.script->acquires.empty(); })) return false;
    f.script->grant_next(7);
    return f.run_until([&] { return job->state() == election_state::working; });
  }
  bool is_over(ending const& ended) {
    return f.run_until([&] {
      if (!f.script->releases.empty()) f.script->release_next(release_reply::released);
      return ended.has_value();
    });
  }
  static bool is_canceled(ending const& ended) {
    return ended->has_error() && ended->error() == errc::canceled;
  }

  void TearDown() override {
    job.reset();
    f.settle();
  }

  scripted_fixture f;
  ending first;
  ending second;
  std::optional<election> job{
      std::in_place, *f.opened, "job",
      election_services{[](election_term& term) { return term.until_stop(); }, {}}};
};

TEST_F(ElectionEnds, ACloseCountsBeforeTheCampaignHasBegun) {
  job->close();
  stand(first);
  ASSERT_TRUE(f.run_until([&] { return first.has_value(); }));
  EXPECT_TRUE(is_canceled(first));
  EXPECT_TRUE(f.script->acquires.empty());
}

TEST_F(ElectionEnds, AResignationCountsForACampaignThatHasBegun) {
  job->resign();
  stand(first);
  ASSERT_TRUE(leads());
  job->resign();
  ASSERT_TRUE(is_over(first));
  EXPECT_TRUE(*first);
  stand(second);
  EXPECT_TRUE(leads()) << "it may stand again";
  job->resign();
  EXPECT_TRUE(is_over(second));
}

TEST_F(ElectionEnds, ACloseGivesTheTermBackAndEndsTheCandidateForGood) {
  stand(first);
  ASSERT_TRUE(leads());
  job->close();
  stand(second);
  ASSERT_TRUE(f.run_until([&] { return second.has_value(); }));
  EXPECT_TRUE(is_canceled(second)) << "while the first still ends";
  EXPECT_FALSE(first);
  ASSERT_TRUE(is_over(first));
  EXPECT_TRUE(*first);
  second.reset();
  stand(second);
  ASSERT_TRUE(f.run_until([&] { return second.has_value(); }));
  EXPECT_TRUE(is_canceled(second));
  EXPECT_TRUE(f.script->acquires.empty());
}

// ------------------------------------------------------------------- blocking, with a stop token

class ElectionStop : public ::testing::Test {
 protected:
  store const opened = open_store("memory:");
  std::atomic<bool> works{false};
  election job{opened, "job", {.start_work = in_thread([this](election_term& term) {
                                 works = true;
                                 EXPECT_TRUE(herdlock_test::eventually(
                                     [&] { return term.stop_token().stop_requested(); }));
                               })}};
};

TEST_F(ElectionStop, ItEndsABlockingCampaignAsAResignationDoes) {
  auto campaign = std::async(std::launch::async, [this] {
    std::jthread stands([this](std::stop_token const& stop) { job.campaign(stop); });
    EXPECT_TRUE(herdlock_test::eventually([this] { return works.load(); }));
    stands.request_stop();
  });
  ASSERT_EQ(campaign.wait_for(herdlock_test::patience), std::future_status::ready);
  EXPECT_FALSE(lock(opened, "job").inspect()) << "the term is given back";
  EXPECT_EQ(job.state(), election_state::idle);
}

TEST_F(ElectionStop, AStopThatWasThereFirstBeginsNothing) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_NO_THROW(job.campaign(stop.get_token()));
  EXPECT_FALSE(works);
  EXPECT_EQ(opened.metrics().acquired, 0u);
}

TEST_F(ElectionStop, ACampaignBehindACloseIsAnErrorWhateverItsToken) {
  job.close();
  std::stop_source const stop;
  EXPECT_THROW(job.campaign(stop.get_token()), error);
  EXPECT_THROW(job.campaign(), error);
}

}  // namespace
}  // namespace herdlock::scripted
