// `herdlock-lab stores`: figures for what can be measured, a reason for what cannot.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <support/redis_server.hpp>
#include <support/temp_dir.hpp>

#include "lab_command.hpp"

namespace {

using namespace herdlock_test;
using nlohmann::json;

TEST(Stores, MeasuresEachStoreAndNamesTheOneThatIsNotThere) {
  temp_dir folder;
  auto const picture = (folder.path() / "stores.svg").string();
  auto const hidden = (folder.path() / "url").string();
  std::ofstream(hidden) << "redis://:secret@127.0.0.1:1?timeout=100ms\n";
  std::filesystem::permissions(hidden, std::filesystem::perms(0600));
  auto const run = run_lab({"stores", "--json", "--rounds", "1", "--plot", picture, "--store",
                            redis_server::shared().url(), "--store-file", hidden});
  ASSERT_EQ(run.code, 69) << run.err << run.out;
  auto const figures = json::parse(run.out);
  ASSERT_EQ(figures.size(), 2u) << figures;
  for (char const* what :
       {"pairs_per_second", "pairs_per_second_64_at_once", "hand_overs", "hand_over_p50_ms",
        "hand_over_p99_ms", "take_over_ms", "take_over_ttl_ms"}) {
    EXPECT_GT(figures[0][what].get<double>(), 0) << what << figures;
  }
  EXPECT_NE(figures[1]["error"].get<std::string>().find("127.0.0.1:1"), std::string::npos);
  EXPECT_EQ(run.out.find("secret"), std::string::npos);
  EXPECT_EQ(run.err.find("secret"), std::string::npos);

  std::string const drawn = content(picture);
  EXPECT_NE(drawn.find("not measured"), std::string::npos) << drawn;
  EXPECT_EQ(drawn.find("secret"), std::string::npos);
}

TEST(Stores, EachThatIsNotThereIsTheReasonOfItsOwnGap) {
  auto const run = run_lab({"stores", "--json", "--rounds", "1",  //
                            "--store", "redis://127.0.0.1:1?timeout=100ms", "--store",
                            "redis://127.0.0.1:2?timeout=100ms"});
  ASSERT_EQ(run.code, 69) << run.err << run.out;
  auto const figures = json::parse(run.out);
  EXPECT_NE(figures[0]["error"].get<std::string>().find("127.0.0.1:1"), std::string::npos);
  EXPECT_NE(figures[1]["error"].get<std::string>().find("127.0.0.1:2"), std::string::npos);
}

TEST(Stores, WhatCannotBeMeasuredIsRefused) {
  EXPECT_EQ(run_lab({"stores"}).code, 64);
  EXPECT_EQ(run_lab({"stores", "--store", "memory:"}).code, 64);
  EXPECT_EQ(run_lab({"stores", "--store", "sqlite:a.db", "--rounds", "0"}).code, 64);
  EXPECT_EQ(run_lab({"stores", "--store", "sqlite:a.db", "--plot", "/nowhere/at/all.svg"}).code,
            64);
}

TEST(StoreFile, IsForScenesToo) {
  temp_dir folder;
  auto const file = (folder.path() / "url").string();
  auto const url = "sqlite:" + (folder.path() / "s.db").string();
  std::ofstream(file) << url << "\n";
  using words = std::vector<std::string>;
  words const soak{"soak", "--hand-overs", "5", "--processes", "1", "--threads", "1"};
  auto const with = [](words line, words const& more) {
    line.insert(line.end(), more.begin(), more.end());
    return line;
  };
  EXPECT_EQ(run_lab(with(soak, {"--store-file", file})).code, 0);
  EXPECT_TRUE(std::filesystem::remove(folder.path() / "s.db")) << "the store of the file";
  std::string const elsewhere = "sqlite:/nowhere/at/all.db";
  EXPECT_EQ(run_lab(with(soak, {"--store-file", file}), {{"HERDLOCK_STORE", elsewhere}}).code, 0);
  EXPECT_EQ(run_lab(with(soak, {"--store", elsewhere, "--store-file", file})).code, 64);
  EXPECT_EQ(run_lab(with(soak, {"--store", elsewhere}), {{"HERDLOCK_STORE_FILE", file}}).code, 69);
  for (char const* scene : {"stampede", "election", "stores", "takeover", "deploy"}) {
    auto const refused = run_lab({scene, "--store-file", file + ".not"});
    EXPECT_EQ(refused.code, 69) << refused.err;
    EXPECT_NE(refused.err.find("url.not"), std::string::npos) << refused.err;
  }
}

}  // namespace
