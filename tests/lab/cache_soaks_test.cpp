// The judges of `tags` and `many-caches` are shown one fault each; what the soaks refuse.
#include <gtest/gtest.h>

#include "broken.hpp"
#include "lab_command.hpp"
#include "scenes/many_caches.hpp"
#include "scenes/tags.hpp"

namespace {

using namespace herdlock::lab;
using herdlock_test::broken_of;
using herdlock_test::run_lab;

class TagsJudge : public ::testing::Test {
 protected:
  std::string broken() const {
    return broken_of([this](judge& by) { judge_tags(seen_, by); });
  }

  tags_round seen_{.entries = 2000,
                   .loaded = 2000,
                   .kept = 1800,
                   .keys = 2,
                   .bytes = 399,
                   .scripts = 1,
                   .steps = 10};
};

TEST_F(TagsJudge, WhatIsPromised) { EXPECT_EQ(broken(), ""); }

TEST_F(TagsJudge, AnEntryThatWasNotLoaded) {
  seen_.loaded = 1999;
  EXPECT_EQ(broken(), "1999 of 2000 entries were loaded");
}

TEST_F(TagsJudge, TooFewThatWereKept) {
  seen_.kept = 1799;
  EXPECT_EQ(broken(), "only 1799 of 2000 entries were kept: it shows nothing");
}

TEST_F(TagsJudge, AKeyMoreForTheTag) {
  seen_.keys = 3;
  EXPECT_EQ(broken(), "the tag has 3 keys, not its record and the counter of that");
}

TEST_F(TagsJudge, ARecordThatGrows) {
  seen_.bytes = 400;
  EXPECT_EQ(broken(), "the tag's record has 400 bytes: does it grow with its entries?");
}

TEST_F(TagsJudge, MoreThanOneCommand) {
  seen_.scripts = 2;
  EXPECT_EQ(broken(), "the end of the tag was 2 scripts of 10 steps, not one of 10 at most");
}

TEST_F(TagsJudge, MoreSteps) {
  seen_.steps = 11;
  EXPECT_EQ(broken(), "the end of the tag was 1 scripts of 11 steps, not one of 10 at most");
}

TEST_F(TagsJudge, AKeptEntryBehindTheFence) {
  seen_.stale_kept = 1;
  EXPECT_EQ(broken(), "1 entries that were kept were served behind the fence");
}

TEST_F(TagsJudge, AStoredEntryBehindTheFence) {
  seen_.stale_in_store = 1;
  EXPECT_EQ(broken(), "1 entries that were stored were served behind the fence");
}

std::string broken_caches(many_caches_figures const& seen) {
  return broken_of([&](judge& by) { judge_many_caches(seen, by); });
}

TEST(ManyCachesJudge, WhatIsPromised) {
  EXPECT_EQ(broken_caches({.called_mb = 10, .idle_percent = 0.5}), "");
}

TEST(ManyCachesJudge, TooMuchMemory) {
  EXPECT_EQ(broken_caches({.called_mb = 10.1}), "they take 10.1 MB, more than 10");
}

TEST(ManyCachesJudge, TooMuchWorkWhileIdle) {
  EXPECT_EQ(broken_caches({.idle_percent = 0.51}),
            "while idle they use 0.51 % of a processor, more than 0.5");
}

TEST(LabSoaks, WhatTheyDoNotKnowIsRefused) {
  EXPECT_EQ(run_lab({"near-soak", "--case", "flood"}).code, 64);
  EXPECT_EQ(run_lab({"near-soak", "--readers", "1"}).code, 64);
  EXPECT_EQ(run_lab({"near-soak", "--writes", "0"}).code, 64);
  EXPECT_EQ(run_lab({"tags", "--entries", "many"}).code, 64);
  EXPECT_EQ(run_lab({"many-caches", "--kind", "cold"}).code, 64);
  EXPECT_EQ(run_lab({"many-caches", "--kind", "hot", "--judge"}).code, 64);
}

}  // namespace
