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

TEST(TagsJudge, EachFaultAlone) {
  tags_round const kept{.entries = 2000,
                        .loaded = 2000,
                        .kept = 1800,
                        .keys = 2,
                        .bytes = 399,
                        .scripts = 1,
                        .steps = 10};
  auto const broken = [](tags_round const& seen) {
    return broken_of([&](judge& by) { judge_tags(seen, by); });
  };
  EXPECT_EQ(broken(kept), "");
  struct fault {
    std::int64_t tags_round::*what;
    std::int64_t is;
    char const* sentence;
  };
  for (auto const& [what, is, sentence] : {
           fault{&tags_round::loaded, 1999, "1999 of 2000 entries were loaded"},
           {&tags_round::kept, 1799, "only 1799 of 2000 entries were kept: it shows nothing"},
           {&tags_round::keys, 3, "the tag has 3 keys, not its record and the counter of that"},
           {&tags_round::bytes, 400,
            "the tag's record has 400 bytes: does it grow with its entries?"},
           {&tags_round::scripts, 2,
            "the end of the tag was 2 scripts of 10 steps, not one of 10 at most"},
           {&tags_round::steps, 11,
            "the end of the tag was 1 scripts of 11 steps, not one of 10 at most"},
           {&tags_round::stale_kept, 1, "1 entries that were kept were served behind the fence"},
           {&tags_round::stale_in_store, 1,
            "1 entries that were stored were served behind the fence"},
       }) {
    auto seen = kept;
    seen.*what = is;
    EXPECT_EQ(broken(seen), sentence);
  }
}

std::string broken_caches(many_caches_figures const& seen) {
  return broken_of([&](judge& by) { judge_many_caches(seen, by); });
}

TEST(ManyCachesJudge, EachFault) {
  EXPECT_EQ(broken_caches({.called_mb = 10, .idle_percent = 0.5}), "");
  EXPECT_EQ(broken_caches({.called_mb = 10.1}), "they take 10.1 MB, more than 10");
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
