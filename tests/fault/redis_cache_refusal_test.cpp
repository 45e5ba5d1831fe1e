// The guarded cache over Redis servers that refuse a part of what it asks: writes, or channels.

#include <herdlock/cache.hpp>
#include "redis_ports.hpp"

namespace herdlock_test {
namespace {

using text = std::optional<std::string>;

// Of what is cached everything is a hit while the server refuses writes, and misses are loaded.
void expect_hits_beside_misses(redis_server& server, std::function<void()> const& refuse_writes,
                               std::string const& word) {
  SCOPED_TRACE(word);
  cache<std::string> const strings(open_store(server.url()), {.ttl = 10min});
  for (int i = 0; i < 10; ++i) strings.put(cache_key("hot" + std::to_string(i)), "stored");
  refuse_writes();
  ASSERT_NE(server.cli("SET other x").find(word), std::string::npos);
  int cold = 0;
  auto const began = clock::now();
  for (int i = 0; i < 1000; ++i) {
    auto const got = strings.get_or_load(cache_key("hot" + std::to_string(i % 10)),
                                         [](load_context const&) { return text("loaded"); });
    EXPECT_EQ(got, "stored");
    if (i % 5 != 0) continue;
    auto const missed = strings.get_or_load(cache_key("cold"), [&](load_context const&) {
      ++cold;
      return text("loaded");
    });
    EXPECT_EQ(missed, "loaded");
  }
  EXPECT_EQ(strings.stats().hits, 1000u);
  auto const quarters = (clock::now() - began) / 250ms;
  EXPECT_LE(cold, 1 + quarters) << "one in each back-off";
  EXPECT_LT(strings.stats().store_errors, 100u) << "claims are left alone for a while";
}

// S9: a full cache server must not be a stampede.
TEST(redis_cache_refusal, HitsGoOnWhileTheServerIsFull) {
  redis_server server;
  expect_hits_beside_misses(
      server, [&] { server.cli("CONFIG SET maxmemory 1"); }, "OOM");
}

// S9
TEST(redis_cache_refusal, HitsGoOnWhileTheServerHasTooFewReplicas) {
  redis_server server;
  expect_hits_beside_misses(
      server, [&] { server.cli("CONFIG SET min-replicas-to-write 1"); }, "NOREPLICAS");
}

// S9
TEST(redis_cache_refusal, HitsGoOnWhileTheServerCannotSave) {
  redis_server server({.arguments = {"--enable-protected-configs", "yes", "--save", "3600 1"}});
  auto const fail_to_save = [&] {
    ASSERT_EQ(server.cli("CONFIG SET dir /proc"), "OK");  // nothing can be written there
    server.cli("BGSAVE");
    ASSERT_TRUE(eventually([&] {
      return server.cli("INFO persistence").find("rdb_last_bgsave_status:err") != std::string::npos;
    }));
  };
  expect_hits_beside_misses(server, fail_to_save, "MISCONF");
}

}  // namespace
}  // namespace herdlock_test
