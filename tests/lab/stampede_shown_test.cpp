// What `herdlock-lab stampede` prints and draws, and where it plays when no store is named.
#include <algorithm>
#include <filesystem>

#include "stampede_play.hpp"

namespace {

using namespace herdlock_test;
using nlohmann::json;
using words = std::vector<std::string>;

TEST_F(Stampede, JsonHasExactlyTheDocumentedKeys) {
  json const list =
      play_stampede({"--mode", "fleet", "--processes", "2", "--requests", "5", "--expiries", "1"});
  ASSERT_TRUE(list.is_array());
  ASSERT_EQ(list.size(), 1u);
  std::vector<std::string> keys;
  for (auto const& [key, value] : list[0].items()) {
    keys.push_back(key);
    EXPECT_EQ(value.is_number(), key != "mode") << key;
  }
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(keys, (words{"answers", "errors", "expiries", "last_answer_ms", "load_time_ms", "loads",
                         "mode", "near_hits", "p50_ms", "p99_ms", "processes", "requests", "stale",
                         "waited"}));
}

TEST_F(Stampede, TheTableHasOneLinePerModeAndNoFilesStayBehind) {
  auto const shown =
      run_lab({"stampede", "--processes", "2", "--requests", "10", "--expiries", "1"},
              {{"TMPDIR", folder_.path().string()}});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(shown.err, "") << "no progress without a terminal";
  for (char const* part : {"loads/expiry", "waited for a load", "stale", "\nnaive ", "\nprocess ",
                           "\nfleet ", "p99 ms"}) {
    EXPECT_NE(shown.out.find(part), std::string::npos) << part << "\n" << shown.out;
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

// Tags are balanced, attributes are quoted: enough to catch a broken picture.
void expect_well_formed(std::string const& xml) {
  std::vector<std::string> open;
  for (auto at = xml.find('<'); at != std::string::npos; at = xml.find('<', at + 1)) {
    auto const end = xml.find('>', at);
    ASSERT_NE(end, std::string::npos);
    std::string const tag = xml.substr(at + 1, end - at - 1);
    EXPECT_EQ(std::count(tag.begin(), tag.end(), '"') % 2, 0) << tag;
    std::string const name = tag.substr(0, tag.find_first_of(" \n/", 1));
    if (tag[0] == '/') {
      ASSERT_FALSE(open.empty()) << tag;
      EXPECT_EQ("/" + open.back(), tag);
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
  }
  EXPECT_TRUE(open.empty());
}

TEST_F(Stampede, ThePlotIsASelfContainedPictureOfEveryMode) {
  auto const file = folder_ / "plot.svg";
  auto const shown = run_lab({"stampede", "--processes", "2", "--requests", "10", "--expiries", "1",
                              "--plot", file.string()});
  ASSERT_EQ(shown.code, 0) << shown.err;
  std::string const svg = content(file);
  expect_well_formed(svg);
  for (char const* part : {"<svg xmlns=\"http://www.w3.org/2000/svg\"", ">naive<", ">process<",
                           ">fleet<", ">1 load<", "class=\"bad\"", "class=\"good\""}) {
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(svg.find("href"), std::string::npos) << "needs nothing from elsewhere";
}

// Four abreast: the fifth begins a line. What is stale has a colour, an expiry to come a line.
TEST_F(Stampede, ThePlotOfAllModesShowsWhoWasGivenTheOldProduct) {
  auto const file = folder_ / "plot.svg";
  auto const shown = run_lab({"stampede", "--mode", "all", "--processes", "2", "--requests", "10",
                              "--expiries", "1", "--plot", file.string()});
  ASSERT_EQ(shown.code, 0) << shown.err;
  std::string const svg = content(file);
  expect_well_formed(svg);
  for (char const* part : {">early<", ">logical<", ">double-lock<", ">hash<", "class=\"old\"",
                           "class=\"mark\"", "viewBox=\"0 0 1508 "}) {
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  }
}

TEST_F(Stampede, TellsOfTheKilledLoaderBelowTheTable) {
  auto const shown =
      run_lab({"stampede", "--mode", "fleet", "--kill-loader", "--processes", "2", "--requests",
               "5", "--expiries", "1", "--load-time", "1s", "--claim-ttl", "2s"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(shown.out.find("was killed (SIGKILL)"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("from 1 new load"), std::string::npos) << shown.out;
}

words short_play() {
  return {"stampede", "--mode", "fleet", "--processes", "2", "--requests", "5", "--expiries", "1"};
}

TEST_F(Stampede, WithoutAStoreItStartsAServerOfItsOwn) {
  auto const shown = run_lab(short_play());
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(shown.out.find("the cache is in a Redis server of its own."), std::string::npos)
      << shown.out;
}

TEST_F(Stampede, WhereNoServerIsInstalledItTakesAFileAndSaysWhatThatMeans) {
  auto const shown = run_lab(short_play(), {{"PATH", "/nowhere"}});
  EXPECT_EQ(shown.code, 0) << shown.err;
  for (char const* part :
       {"the cache is in a temporary SQLite file.", "There is no redis-server", "in steps"}) {
    EXPECT_NE(shown.out.find(part), std::string::npos) << part << "\n" << shown.out;
  }
}

}  // namespace
