// `herdlock bench takeover`: figures for what can be measured, a reason for what cannot, and a
// judge that is not asleep.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <support/temp_dir.hpp>

#include "scenes/takeover_board.hpp"
#include "herdlock_command.hpp"

namespace {

using namespace herdlock_test;
using herdlock::cli::takeover_board;
using nlohmann::json;

TEST(BenchTakeover, StopsALeaderInEachWayAndNobodyActsInAnOlderTerm) {
  temp_dir folder;
  auto const run = run_herdlock({"bench", "takeover", "--json", "--rounds", "1", "--ttl", "2s",
                                 "--store", "sqlite:" + (folder.path() / "t.db").string()});
  auto const figures = json::parse(run.out);
  ASSERT_EQ(figures.size(), 3u) << figures << run.err;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    EXPECT_EQ(figures[i]["stop"], (std::vector{"graceful", "kill", "freeze"}[i]));
    EXPECT_EQ(figures[i]["rounds"], 1) << figures;
    EXPECT_EQ(figures[i]["overlaps"], 0) << figures;
    EXPECT_EQ(figures[i]["excess_ms"], 1000) << figures;
    EXPECT_GT(figures[i]["acts"], 10) << figures;
  }
}

TEST(BenchTakeover, NamesTheStoreThatIsNotThere) {
  auto const run =
      run_herdlock({"bench", "takeover", "--rounds", "1", "--stop", "graceful", "--json", "--store",
                    "redis://:secret@127.0.0.1:1?timeout=100ms&nonsense=1"});
  EXPECT_EQ(run.code, 69) << run.err;
  EXPECT_NE(run.out.find("127.0.0.1:1"), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find("secret"), std::string::npos);
}

TEST(BenchTakeover, WhatCannotBeMeasuredIsRefused) {
  EXPECT_EQ(run_herdlock({"bench", "takeover"}).code, 64);
  for (std::vector<std::string> const& bad : {std::vector<std::string>{"--store", "memory:"},
                                              {"--store", "sqlite:a.db", "--rounds", "0"},
                                              {"--store", "sqlite:a.db", "--ttl", "1h"},
                                              {"--store", "sqlite:a.db", "--excess", "2h"},
                                              {"--store", "sqlite:a.db", "--excess", "some"},
                                              {"--store", "sqlite:a.db", "--stop", "gently"}}) {
    std::vector<std::string> words{"bench", "takeover"};
    words.insert(words.end(), bad.begin(), bad.end());
    EXPECT_EQ(run_herdlock(words).code, 64) << bad.back();
  }
}

TEST(BenchTakeover, TheJudgeSeesAnActInAnOlderTermAndTwoThatWork) {
  auto& board = takeover_board::in_shared_memory();
  board.begin(0, 5);
  board.act(5);
  EXPECT_EQ(board.leader(), 0);
  EXPECT_EQ(board.overlaps(), 0);
  board.excused = 0;
  board.begin(1, 6);
  EXPECT_EQ(board.overlaps(), 0) << "the other one is frozen";
  EXPECT_EQ(board.leader(), 1);
  board.act(5);
  EXPECT_EQ(board.overlaps(), 1);
  board.excused = takeover_board::nobody;
  board.begin(2, 7);
  EXPECT_EQ(board.overlaps(), 3);
}

}  // namespace
