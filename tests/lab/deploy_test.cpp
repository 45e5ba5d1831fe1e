// `herdlock-lab deploy`: that it runs, and that its judge sees each fault of a deploy.
#include <gtest/gtest.h>

#include <filesystem>
#include <herdlock/types.hpp>
#include <nlohmann/json.hpp>
#include <support/redis_server.hpp>
#include <support/temp_dir.hpp>

#include "broken.hpp"
#include "lab_command.hpp"
#include "scenes/deploy_judge.hpp"

namespace {

using namespace std::chrono_literals;
using namespace herdlock_test;
using namespace herdlock::lab;
using herdlock::clock;

constexpr std::int64_t ms = 1'000'000;

// Two jobs, of which the first has been done as it should be; one worker, restarted.
class DeployJudge : public testing::Test {
 protected:
  DeployJudge() {
    figures_.workers = figures_.restarted = 1;
    done(jobs_[0], 1);
  }

  static void done(deploy_job& job, std::uint64_t token) {
    auto const spot = job.thing.enter(token);
    job.note_begin(0, 1'000 * ms);
    job.thing.write(token);
    job.done_ns = 1'020 * ms;
    job.thing.leave(spot);
  }
  // A worker dies in it, whose lease lasts until then.
  void begun_by_one_who_dies(deploy_job& job, clock::time_point until) {
    job.thing.enter(1, until);
    job.note_begin(0, 1'000 * ms);
    ++figures_.killed;
  }
  std::string broken() {
    figures_.add(jobs_);
    return broken_of([this](auto& by) { judge_deploy(figures_, 500ms, by); });
  }

  shared_array<deploy_job> jobs_{2};
  deploy_figures figures_;
};

TEST_F(DeployJudge, NothingIsBroken) {
  begun_by_one_who_dies(jobs_[1], clock::now() - 1ms);
  done(jobs_[1], 2);
  EXPECT_EQ(broken(), "");
  EXPECT_EQ(figures_.begun_again, 1);
  EXPECT_EQ(figures_.slowest_ms, 20);
}

TEST_F(DeployJudge, AJobLeftOut) { EXPECT_EQ(broken(), "1 jobs were left out"); }

TEST_F(DeployJudge, AJobDoneTwice) {
  done(jobs_[1], 1);
  EXPECT_TRUE(jobs_[1].thing.write(1));
  EXPECT_EQ(broken(), "1 jobs were done more than once");
}

TEST_F(DeployJudge, AJobBegunAgainBeforeTheLeaseOfTheDead) {
  begun_by_one_who_dies(jobs_[1], clock::now() + 1h);
  done(jobs_[1], 2);
  EXPECT_EQ(broken(), "a job was begun while another's lease on it had not ended, 1 times");
}

TEST_F(DeployJudge, ATokenThatDidNotRise) {
  begun_by_one_who_dies(jobs_[1], clock::now() - 1ms);
  done(jobs_[1], 1);
  EXPECT_EQ(broken(), "a fencing token did not rise, 1 times");
}

TEST_F(DeployJudge, AJobBegunAgainAlthoughNobodyDied) {
  begun_by_one_who_dies(jobs_[1], clock::now() - 1ms);
  done(jobs_[1], 2);
  figures_.killed = 0;
  EXPECT_EQ(broken(), "1 jobs were begun again, but only 0 workers died at one and 0 lost it");
}

TEST_F(DeployJudge, AWorkerThatWasNotRestarted) {
  done(jobs_[1], 1);
  figures_.workers = 2;
  EXPECT_EQ(broken(), "only 1 of 2 workers were restarted");
}

TEST_F(DeployJudge, NobodyKilledWhereSomeWereToBe) {
  done(jobs_[1], 1);
  figures_.kills = true;
  EXPECT_EQ(broken(),
            "no worker was killed in the middle of a job, so this shows nothing; use more --jobs");
}

TEST_F(DeployJudge, ALateJob) {
  done(jobs_[1], 1);
  jobs_[1].done_ns = 1'501 * ms;
  EXPECT_EQ(broken(), "a job was done only 501 ms behind its begin");
  EXPECT_EQ(figures_.longest_pause_ms, 481);
}

TEST(Deploy, EachJobIsDoneOnceThoughAllWorkersAreRestarted) {
  temp_dir folder;
  auto const picture = (folder.path() / "deploy.svg").string();
  for (std::string const& url : {redis_server::shared().url(), std::string()}) {
    auto const figures =
        json_of_lab({"deploy", "--workers", "5", "--jobs", "300", "--work", "5ms", "--ttl", "2s",
                     "--kill", "--in-time", "2m", "--plot", picture},
                    0, {{"HERDLOCK_STORE", url}});
    EXPECT_EQ(figures["restarted"], 5) << figures;
    EXPECT_GE(figures["killed"], 1) << figures;
    EXPECT_EQ(figures["jobs"], 300) << figures;
    EXPECT_GE(figures["begun_again"], figures["killed"]) << figures;
    for (char const* what : {"left_out", "done_twice", "overlaps", "fencing_steps_back"}) {
      EXPECT_EQ(figures[what], 0) << figures;
    }
    EXPECT_NE(content(picture).find("A deploy under load"), std::string::npos);
  }
}

TEST(Deploy, AStoreOfOneProcessIsRefused) {
  EXPECT_EQ(run_lab({"deploy", "--store", "memory:"}).code, 64);
  EXPECT_EQ(run_lab({"deploy", "--workers", "65"}).code, 64);
  EXPECT_EQ(run_lab({"deploy", "--kill", "--workers", "1"}).code, 64);
}

}  // namespace
