// Ctrl-C ends every scene, whatever it is at.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <support/child_process.hpp>
#include <support/redis_server.hpp>
#include <support/temp_dir.hpp>

#include "lab_command.hpp"

namespace {

using namespace herdlock_test;
using words = std::vector<std::string>;

// Whether it takes the signal by now; before, the signal ends it.
bool takes_interruptions(child_process const& one) {
  std::ifstream status("/proc/" + std::to_string(one.pid()) + "/status");
  for (std::string word; status >> word;) {
    if (word != "SigCgt:") continue;
    unsigned long long caught = 0;
    status >> std::hex >> caught;
    return (caught >> (SIGINT - 1) & 1) != 0;
  }
  return false;
}

// Each would go on for minutes.
TEST(Interrupted, EachSceneEnds) {
  temp_dir folder;
  auto const file = "sqlite:" + (folder.path() / "store.db").string();
  std::vector<words> const all{
      {"stampede", "--expiries", "1000"},
      {"hotkey", "--time", "2m"},
      {"near", "--time", "2m", "--store", redis_server::shared().url()},
      {"election"},
      {"deploy", "--jobs", "100000"},
      {"takeover", "--store", file, "--rounds", "1000"},
      {"stores", "--store", file, "--rounds", "1000"},
      {"soak", "--hand-overs", "100000000"},
      {"cut", "--rounds", "1000"},
      {"session", "--rounds", "1000"},
      {"failover", "--safe", "--rounds", "1000"},
      {"reconnect", "--time", "5m"},
      {"near-soak", "--events", "10000"},
      {"freshness", "--generations", "99999"},
      {"loaders", "--calls", "100000000"},
      {"many", "--rounds", "1000000"},
      {"many-caches", "--caches", "300000"},
      {"tags", "--entries", "2000000"},
      {"hot-soak", "--time", "5m"},
      {"fleet", "--time", "5m"},
      {"trace", "--time", "5m"},
  };
  std::string missing;
  std::istringstream names(run_lab({"help", "--commands"}).out);
  for (std::string program, name; names >> program >> name;) {
    bool const is_known = name == "help" || std::ranges::any_of(all, [&](words const& one) {
                            return one.front() == name;
                          });
    if (!is_known) missing += name + " ";
  }
  EXPECT_EQ(missing, "");
  for (auto const& arguments : all) {
    SCOPED_TRACE(arguments.front());
    auto scene = start_lab(arguments);
    ASSERT_TRUE(eventually([&] { return takes_interruptions(scene) || !scene.running(); }));
    scene.signal(SIGINT);
    auto const ended = scene.wait();
    ASSERT_TRUE(ended) << "it goes on: " << scene.errors();
    EXPECT_EQ(*ended, (exit_status{.code = 128 + SIGINT, .signal = {}})) << scene.errors();
  }
}

}  // namespace
