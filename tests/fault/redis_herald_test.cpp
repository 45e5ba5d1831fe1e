// The PING in front of a release behind which somebody is likely to wait.
#include "redis_waiting.hpp"

namespace herdlock_test {
namespace {

struct redis_herald : redis_queue {};

// The PING in front makes the server write to the next holder before it writes to the releaser.
TEST_F(redis_herald, GoesInFrontOfTheReleaseOfOneWhoHasWaited) {
  server.cli("CONFIG SET slowlog-max-len 10000 slowlog-log-slower-than 0");
  server.cli("SLOWLOG RESET");
  auto const heralds = [&] {  // the health check's PING has an argument
    auto const log = server.cli("SLOWLOG GET 10000");
    int count = 0;
    for (auto at = log.find("\nPING\n127."); at != std::string::npos;
         at = log.find("\nPING\n127.", at + 1)) {
      ++count;
    }
    return count;
  };
  redis_ports holder(server.url());
  redis_ports waiter(server.url());
  auto const before = fence_of(holder.acquire("r", mine));
  auto* const a = enqueue(waiter);
  auto* const b = enqueue(waiter);
  EXPECT_EQ(holder.release("r", mine).value(), release_reply::released);
  ASSERT_TRUE(waiter.wait_for([&] { return a->granted(); }));
  EXPECT_EQ(heralds(), 0) << "nobody had waited";
  EXPECT_EQ(waiter.release("r", a->owner).value(), release_reply::released);
  ASSERT_TRUE(waiter.wait_for([&] { return b->granted(); }));
  EXPECT_EQ(heralds(), 1);
  EXPECT_GT(b->got().fencing.value, before);
  EXPECT_EQ(waiter.release("r", b->owner).value(), release_reply::released);
  EXPECT_EQ(heralds(), 2);
  fence_of(waiter.acquire("r", mine));
  EXPECT_EQ(waiter.release("r", mine).value(), release_reply::released);
  EXPECT_EQ(heralds(), 2) << "a hint is used once";
}

TEST_F(redis_herald, HarmsNothingWhereItIsRefused) {
  redis_server closed({.users = {"poor on >secret ~* &* +@all -ping"}});
  auto const url = "redis://poor:secret@127.0.0.1:" + std::to_string(closed.port());
  redis_ports waiter(url);
  auto const before = fence_of(waiter.acquire("r", mine));
  auto* const a = start(waiter);
  auto* const b = start(waiter);
  ASSERT_TRUE(waiter.wait_for([&] { return closed.cli("ZCARD {r}:herdlock:queue") == "2"; }));
  EXPECT_EQ(waiter.release("r", mine).value(), release_reply::released);
  ASSERT_TRUE(waiter.wait_for([&] { return a->granted(); }));
  EXPECT_EQ(waiter.release("r", a->owner).value(), release_reply::released);
  ASSERT_TRUE(waiter.wait_for([&] { return b->granted(); }));
  EXPECT_GT(b->got().fencing.value, before);
}

}  // namespace
}  // namespace herdlock_test
