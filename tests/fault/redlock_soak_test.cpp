// Clients that compete for one lease over five servers while these are stopped and restarted: what
// the lease guards is entered by one at a time, with fencing tokens that rise.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include <herdlock/herdlock.hpp>
#include "support/eventually.hpp"
#include "support/redis_nodes.hpp"

namespace herdlock_test {
namespace {

using namespace herdlock;
using namespace std::chrono_literals;

// Judged by the leases' own clock: an overlap is an entry while another is inside whose lease is
// valid still.
class guarded_place {
 public:
  void enter(lease const& with) {
    std::lock_guard const hold(mutex_);
    if (!with.valid()) return;
    ++entries;
    if (inside_ != 0 && clock::now() < inside_until_) ++overlaps;
    if (with.fencing().value <= last_) ++not_rising;
    last_ = with.fencing().value;
    inside_ = last_;
    inside_until_ = with.valid_until();
  }
  void leave(lease const& with) {
    std::lock_guard const hold(mutex_);
    if (inside_ == with.fencing().value) inside_ = 0;
  }

  std::atomic<int> entries = 0;
  int overlaps = 0;
  int not_rising = 0;

 private:
  std::mutex mutex_;
  std::uint64_t inside_ = 0;
  std::uint64_t last_ = 0;
  clock::time_point inside_until_{};
};

void compete(std::string const& url, guarded_place& place, std::atomic<bool> const& stop) {
  store const mine = open_store(url);
  lock const where(mine, "guarded");
  while (!stop) {
    try {
      auto held = where.acquire({.ttl = 2s, .wait = 1s});
      if (!held) continue;
      place.enter(*held);
      place.leave(*held);
      held->release();
    } catch (error const&) {  // too few nodes for a moment
    }
  }
}

// Progress although simultaneous contenders split the votes.
TEST(RedlockSoak, ThreeContendersAllGetTheirTurns) {
  redis_nodes& nodes = redis_nodes::shared();
  nodes.reset();
  guarded_place place;
  std::vector<std::thread> all;
  std::atomic<int> turns{0};
  for (int i = 0; i < 3; ++i) {
    all.emplace_back([&] {
      store const mine = open_store(nodes.url());
      lock const where(mine, "guarded");
      for (int round = 0; round < 20; ++round) {
        auto held = where.acquire({.ttl = 10s, .wait = patience});
        if (!held) return;
        place.enter(*held);
        place.leave(*held);
        held->release();
        ++turns;
      }
    });
  }
  for (auto& one : all) one.join();
  EXPECT_EQ(turns, 60);
  EXPECT_EQ(place.overlaps, 0);
  EXPECT_EQ(place.not_rising, 0);
}

TEST(RedlockSoak, NoOverlapsWhileNodesAreStoppedAndRestartedEmpty) {
  redis_nodes nodes;
  auto const url = redis_nodes::url_of(nodes.ports(), "restart_delay=2s&timeout=500ms");
  guarded_place place;
  std::atomic<bool> stop{false};
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i) all.emplace_back([&] { compete(url, place, stop); });
  std::mt19937 random{20240607};
  for (int round = 0; round < 12; ++round) {
    auto const first = random() % 5;
    auto const second = (first + 1 + random() % 4) % 5;
    int const wanted = place.entries + 3;
    if (round % 3 == 0) {
      nodes[first].restart();
    } else {
      nodes[first].pause();
      nodes[second].pause();
    }
    eventually(3s, [&] { return place.entries >= wanted; });
    nodes[first].resume();
    nodes[second].resume();
  }
  stop = true;
  for (auto& one : all) one.join();
  EXPECT_GT(place.entries, 20);
  EXPECT_EQ(place.overlaps, 0);
  EXPECT_EQ(place.not_rising, 0);
}

}  // namespace
}  // namespace herdlock_test
