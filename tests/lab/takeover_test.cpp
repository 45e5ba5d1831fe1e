// `herdlock-lab takeover`: figures for what can be measured, a reason for what cannot, and a judge
// that is not asleep.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <support/temp_dir.hpp>

#include "broken.hpp"
#include "lab_command.hpp"
#include "scenes/takeover_judge.hpp"

namespace {

using namespace herdlock_test;
using namespace std::chrono_literals;
using herdlock::lab::contest_board;
using herdlock::lab::judge_takeover;
using herdlock::lab::leader_stop;
using herdlock::lab::shared;
using herdlock::lab::takeover_figures;

TEST(LabTakeover, StopsALeaderInEachWayAndNobodyActsInAnOlderTerm) {
  temp_dir folder;
  auto const figures = json_of_lab({"takeover", "--rounds", "1", "--ttl", "2s", "--store",
                                    "sqlite:" + (folder.path() / "t.db").string()});
  ASSERT_EQ(figures.size(), 3u) << figures;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    EXPECT_EQ(figures[i]["stop"], (std::vector{"graceful", "kill", "freeze"}[i]));
    EXPECT_EQ(figures[i]["rounds"], 1) << figures;
    EXPECT_EQ(figures[i]["overlaps"], 0) << figures;
    EXPECT_EQ(figures[i]["excess_ms"], 1000) << figures;
    EXPECT_GT(figures[i]["acts"], 10) << figures;
    EXPECT_EQ(figures[i].contains("thawed_p99_ms"), i == 2) << figures;
  }
}

TEST(LabTakeover, NamesTheStoreThatIsNotThere) {
  auto const run = run_lab({"takeover", "--rounds", "1", "--stop", "graceful", "--json", "--store",
                            "redis://:secret@127.0.0.1:1?timeout=100ms&nonsense=1"});
  EXPECT_EQ(run.code, 69) << run.err;
  EXPECT_NE(run.out.find("127.0.0.1:1"), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find("secret"), std::string::npos);
}

TEST(LabTakeover, WhatCannotBeMeasuredIsRefused) {
  EXPECT_EQ(run_lab({"takeover"}).code, 64);
  for (std::vector<std::string> const& bad : {std::vector<std::string>{"--store", "memory:"},
                                              {"--store", "sqlite:a.db", "--rounds", "0"},
                                              {"--store", "sqlite:a.db", "--ttl", "1h"},
                                              {"--store", "sqlite:a.db", "--excess", "2h"},
                                              {"--store", "sqlite:a.db", "--excess", "some"},
                                              {"--store", "sqlite:a.db", "--stop", "gently"},
                                              {"--only", "mysql"}}) {
    std::vector<std::string> words{"takeover"};
    words.insert(words.end(), bad.begin(), bad.end());
    EXPECT_EQ(run_lab(words).code, 64) << bad.back();
  }
}

// ------------------------------------------------------------------------------------- the board

TEST(ContestBoard, WorkThatBeginsWhileAnothersRunsCounts) {
  shared<contest_board> board;
  board->begin(0, 5);
  board->thing.write(5);
  EXPECT_EQ(board->leader(), 0);
  EXPECT_EQ(board->thing.seen().overlaps, 0);
  board->begin(1, 6);
  EXPECT_EQ(board->thing.seen().overlaps, 1);
  EXPECT_EQ(board->thing.seen().refused, 0);
  EXPECT_EQ(board->leader(), 1);
}

TEST(ContestBoard, WorkThatBeginsBesideAFrozenOrEndedOneDoesNotCount) {
  shared<contest_board> board;
  board->begin(0, 5);
  board->excuse(0);
  board->begin(1, 6);
  board->end(0, 5);
  board->end(1, 6);
  board->begin(2, 7);
  EXPECT_EQ(board->thing.seen().overlaps, 0);
  EXPECT_EQ(board->leader(), 2);
}

TEST(ContestBoard, AnActInAnOlderTermCountsWhoeverIsFrozen) {
  shared<contest_board> board;
  board->begin(0, 5);
  board->excuse(0);
  board->begin(1, 6);
  board->thing.write(6);
  EXPECT_EQ(board->thing.seen().refused, 0);
  board->thing.write(5);
  EXPECT_EQ(board->thing.seen().refused, 1);
  EXPECT_EQ(board->thing.writes(), 3);
  EXPECT_EQ(board->thing.highest(), 6u);
}

TEST(ContestBoard, OneThatWasKilledBeginsAnewAndNobodyLeadsMeanwhile) {
  shared<contest_board> board;
  board->begin(0, 5);
  board->renewed(0, 5);
  board->trouble(0, "no connection");
  EXPECT_STREQ(board->at(0).why.data(), "no connection");
  board->at(0).may_stand = false;
  board->clear(0);
  EXPECT_EQ(board->leader(), contest_board::nobody);
  EXPECT_FALSE(board->thing.occupied());
  EXPECT_EQ(board->at(0).renewals, 0);
  EXPECT_EQ(board->at(0).last(herdlock::lab::contest_word::leads).at_ns, 0);
  EXPECT_TRUE(board->at(0).may_stand);
}

// ------------------------------------------------------------------------------------- the judge

takeover_figures good(leader_stop how) {
  return {.store = "redis://a", .how = how, .took_ms = {1900, 2999}, .acts = {.writes = 100}};
}

std::string broken(takeover_figures const& of) {
  return broken_of([&](auto& by) { judge_takeover(of, 3s, by); });
}

TEST(TakeoverJudge, IsContentWithWhatIsPromised) {
  for (auto const how : {leader_stop::graceful, leader_stop::kill, leader_stop::freeze}) {
    EXPECT_EQ(broken(good(how)), "");
  }
}

TEST(TakeoverJudge, SeesTwoThatWorkAtOnce) {
  auto of = good(leader_stop::kill);
  of.acts.overlaps = 1;
  EXPECT_EQ(broken(of), "redis://a, kill: work began while another's ran, 1 times");
}

TEST(TakeoverJudge, SeesAnActInAnOlderTermAlsoWhereThereAreNoTimes) {
  auto of = good(leader_stop::graceful);
  of.took_ms.clear();
  of.trouble = "nobody took over";
  EXPECT_EQ(broken(of), "");
  of.acts.refused = 2;
  EXPECT_EQ(broken(of), "redis://a, graceful: 2 acts in an older term than one that had acted");
}

TEST(TakeoverJudge, SeesANewLeaderThatCameTooLateAndPromisesNothingOfAHandOver) {
  for (auto const how : {leader_stop::kill, leader_stop::freeze}) {
    auto of = good(how);
    of.took_ms.push_back(3001);
    EXPECT_NE(broken(of).find("nobody led for 3001.0 ms"), std::string::npos);
  }
  auto handed_over = good(leader_stop::graceful);
  handed_over.took_ms.push_back(3001);
  EXPECT_EQ(broken(handed_over), "");
}

}  // namespace
