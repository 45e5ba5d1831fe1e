// A driver around the machine of the near cache: a table, and the PINGs that it was told to send.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "near_table.hpp"

namespace herdlock::algo {

inline constexpr clock::time_point near_start{std::chrono::hours(1)};

// Times are counted from when the first connection came up.
class NearMachine : public ::testing::Test {
 protected:
  explicit NearMachine(near_settings settings = {}) : machine(settings) {}

  void apply(near_plan const& plan) {
    auto const rest = table.apply(plan, [](std::string_view) { return std::uint16_t{7}; });
    for (near_action const& one : rest.pings) pings[one.connection].push_back(one.number);
    if (rest.passed_fence != 0) passed_fence = rest.passed_fence;
  }

  near_connection connect(milliseconds at = {}) {
    near_connection const fresh = *machine.connected(near_start + at);
    apply(machine.tracking_on(fresh));
    return fresh;
  }

  std::optional<near_stamp> read(near_connection over, std::string_view key,
                                 milliseconds at = {}) const {
    return machine.read_sent(over, key, near_start + at);
  }
  bool fill(std::string_view key, std::optional<near_stamp> const& stamp, int value,
            milliseconds at = {}) {
    return stamp && fill(key, *stamp, {.from = stamp->connection}, value, at);
  }
  bool fill_negative(std::string_view key, near_stamp const& stamp, milliseconds at = {}) {
    return fill(key, stamp, {.from = stamp.connection, .what = near_answer::found::negative}, 0,
                at);
  }
  bool fill(std::string_view key, near_stamp const& stamp, near_answer const& answer, int value,
            milliseconds at) {
    auto const entry = machine.fill(key, stamp, answer, near_start + at);
    if (entry) table.insert(key, *entry, value);
    return entry.has_value();
  }
  bool keep(near_connection over, std::string_view key, int value, milliseconds at = {}) {
    return fill(key, read(over, key, at), value, at);
  }
  std::optional<int> hit(std::string_view key, milliseconds at = {}) const {
    return table.hit(key, near_start + at);
  }

  void push(near_connection from, std::string_view key, milliseconds at = {}) {
    apply(machine.invalidated(from, std::span(&key, 1), near_start + at));
  }
  void tick(milliseconds at) { apply(machine.timer(near_start + at)); }
  void pong(near_connection from, std::uint64_t number, std::uint64_t pushes_before,
            milliseconds at) {
    apply(machine.pong(from, number, pushes_before, near_start + at));
  }
  void refuse(near_connection which, std::uint64_t number, milliseconds at) {
    apply(machine.ping_refused(which, number, near_start + at));
  }
  void fence(milliseconds at) { apply(machine.fence(near_start + at)); }

  near_machine machine;
  near_table<int> table;
  std::map<near_connection, std::vector<std::uint64_t>> pings;
  std::uint64_t passed_fence = 0;
};

class NearCluster : public NearMachine {
 protected:
  NearCluster() : NearMachine({.servers = near_servers::several}) {}
};

}  // namespace herdlock::algo
