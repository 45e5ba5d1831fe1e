// What is reaped in a turn, and when the number of the command's group means nothing any more.
#include "common/group_reaper.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <vector>

namespace {

using herdlock::cli::child_news;
using herdlock::cli::child_table;
using herdlock::cli::children_per_turn;
using herdlock::cli::group_reaper;
using herdlock::cli::work_seen;

constexpr pid_t first_of_group = 100;

// The processes of a command: children of ours, in the order of their births, and others.
class told_children : public child_table {
 public:
  struct child {
    pid_t id;
    pid_t group;
    bool has_ended;
  };
  std::vector<child> children;
  std::vector<child> grandchildren;
  int walks = 0;
  int reaped = 0;
  bool over = false;
  bool readable = true;

  std::optional<child_news> ended() override {
    auto const found = std::ranges::find_if(children, &child::has_ended);
    if (found == children.end()) return std::nullopt;
    return child_news{found->id, CLD_EXITED, 7};
  }
  std::optional<child_news> stopped() override { return std::nullopt; }
  void reap(pid_t one) override {
    bool const was_last = group_of(one) == first_of_group && in_group() == 1;
    EXPECT_TRUE(over || !was_last) << "the number is free, and nobody was told";
    std::erase_if(children, [&](auto const& each) { return each.id == one; });
    ++reaped;
  }
  pid_t group_of(pid_t one) override {
    for (auto const* all : {&children, &grandchildren}) {
      for (auto const& each : *all) {
        if (each.id == one) return each.group;
      }
    }
    return -1;
  }
  pid_t child_in(pid_t group, pid_t but_not) override {
    pid_t found = 0;
    for (auto const& each : children) {
      if (each.group == group && each.id != but_not) found = each.id;
    }
    return found;
  }
  work_seen walk(pid_t group) override {
    ++walks;
    work_seen seen{.known = readable};
    for (auto const* all : {&children, &grandchildren}) {
      for (auto const& each : *all) {
        if (each.group != group || each.has_ended) continue;
        ++seen.living;
        seen.one = each.id;
      }
    }
    return seen;
  }
  void group_is_over() override {
    EXPECT_EQ(in_group(), 1) << "the number is still taken";
    over = true;
  }

 private:
  long in_group() const {
    auto const is_in = [](child const& each) { return each.group == first_of_group; };
    return std::ranges::count_if(children, is_in) + std::ranges::count_if(grandchildren, is_in);
  }
};

// B32: on a machine with thousands of processes a walk takes longer than an orphan's life.
TEST(GroupReaper, OrphansAreReapedInTurnsWithoutALookAtAllProcesses) {
  told_children table;
  table.children.push_back({first_of_group, first_of_group, false});
  for (pid_t id = 1000; id < 1000 + 3 * children_per_turn; ++id) {
    table.children.push_back({id, first_of_group, true});
  }
  group_reaper reaper(table, first_of_group);
  EXPECT_TRUE(reaper.turn().more) << "deadlines and signals have their turn";
  EXPECT_EQ(table.reaped, children_per_turn);
  while (reaper.turn().more) {
  }
  EXPECT_EQ(table.reaped, 3 * children_per_turn);
  EXPECT_EQ(table.walks, 0);
  EXPECT_FALSE(reaper.group_over());
}

TEST(GroupReaper, TheLastOneOfTheGroupIsToldOfBeforeItIsReaped) {
  told_children table;
  table.children = {{first_of_group, first_of_group, true},
                    {1001, first_of_group, true},
                    {1002, first_of_group, true}};
  group_reaper reaper(table, first_of_group);
  auto const changes = reaper.turn();
  EXPECT_TRUE(changes.leader_ended);
  EXPECT_EQ(reaper.leader_status(), 7);
  EXPECT_FALSE(changes.more);
  EXPECT_TRUE(reaper.group_over());
  EXPECT_EQ(table.walks, 1);
}

// A process of the group whose parent is a living one of another group.
TEST(GroupReaper, AGrandchildKeepsTheNumber) {
  told_children table;
  table.children = {
      {first_of_group, first_of_group, true}, {1001, first_of_group, true}, {1002, 1002, false}};
  table.grandchildren = {{1003, first_of_group, false}};
  group_reaper reaper(table, first_of_group);
  EXPECT_FALSE(reaper.turn().more);
  EXPECT_FALSE(reaper.group_over());
  EXPECT_EQ(table.walks, 1);
  table.grandchildren.clear();
  table.children.push_back({1003, first_of_group, true});  // its parent has ended, we have got it
  reaper.turn();
  EXPECT_TRUE(reaper.group_over());
}

// The process that kept the number goes between two that are reaped, each time.
TEST(GroupReaper, ThereIsOneWalkInATurnAtMost) {
  struct : told_children {
    void reap(pid_t one) override {
      std::erase_if(children, [&](auto const& each) { return each.id == one; });
      grandchildren.front().id += 1;
    }
    pid_t child_in(pid_t, pid_t) override { return 0; }
  } table;
  table.children = {{first_of_group, first_of_group, true},
                    {1001, first_of_group, true},
                    {1002, first_of_group, true}};
  table.grandchildren = {{2000, first_of_group, false}};
  group_reaper reaper(table, first_of_group);
  for (int turns = 1; turns <= 3; ++turns) {
    EXPECT_EQ(reaper.turn().more, turns < 3);
    EXPECT_EQ(table.walks, turns);
  }
  EXPECT_TRUE(table.children.empty());
}

TEST(GroupReaper, WhoIsInAnotherGroupIsReapedWithoutAQuestion) {
  told_children table;
  table.children = {{first_of_group, first_of_group, false}, {1001, 1001, true}, {1002, 55, true}};
  group_reaper reaper(table, first_of_group);
  EXPECT_FALSE(reaper.turn().more);
  EXPECT_EQ(table.reaped, 2);
  EXPECT_EQ(table.walks, 0);
}

}  // namespace
