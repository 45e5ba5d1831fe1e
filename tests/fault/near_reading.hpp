// What a process that keeps values answers while its connection comes and goes.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include <herdlock/cache.hpp>
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

namespace herdlock_test {

/// Calls it until it throws nothing: a connection that was lost is made anew meanwhile.
template <class Call>
bool succeeds(Call call) {
  return eventually([&] {
    try {
      call();
      return true;
    } catch (herdlock::error const&) {
      return false;
    }
  });
}

/// Until an answer comes from what the process keeps.
template <class Load>
void read_until_kept(herdlock::cache<std::string> const& one, std::string_view key,
                     Load const& load) {
  ASSERT_TRUE(eventually([&] {
    auto const before = one.stats().near_hits;
    one.get_or_load(key, load);
    return one.stats().near_hits > before;
  })) << key;
}
inline void read_until_kept(herdlock::cache<std::string> const& one, std::string_view key) {
  read_until_kept(one, key, [] { return std::string("loaded"); });
}

/// What a look finds once the store answers; "(miss)" for nothing. It is judged once: who asks
/// until he likes the answer lets those pass that are too old.
inline std::string first_answer(herdlock::cache<std::string> const& from, std::string_view key) {
  herdlock::cached<std::string> found;
  EXPECT_TRUE(succeeds([&] { found = from.get(key); }));
  return found ? *found : "(miss)";
}

/// The same behind the first fence that passes.
inline std::string answer_behind_fence(herdlock::cache<std::string> const& from,
                                       std::string_view key) {
  EXPECT_TRUE(succeeds([&] { from.fence(); }));
  return first_answer(from, key);
}

/// Whether the server pushes changes to anybody.
inline bool has_tracking_client(redis_server const& which) {
  auto const clients = which.cli("INFO clients");
  return clients.find("tracking_clients:") != clients.npos &&
         clients.find("tracking_clients:0") == clients.npos;
}

}  // namespace herdlock_test
