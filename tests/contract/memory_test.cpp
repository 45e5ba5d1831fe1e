// What only the memory store does: names, bounds.
#include "fixture.hpp"
#include "stores/memory/memory_store.hpp"

namespace herdlock_test {
namespace {

store_case const memory{"memory", {}, &open_memory};
owner_token const alice = owner_token::generate();
owner_token const bob = owner_token::generate();

failure refusal(std::string const& url) {
  asio::io_context io;
  auto opened = open_memory(store_url::parse(url).value(), io.get_executor());
  return opened ? failure{} : opened.error();
}

TEST(MemoryStore, TwoHandlesWithoutANameAreTwoStores) {
  client first(memory, "memory:");
  client second(memory, "memory:");
  resource stock("stock:1");
  EXPECT_TRUE(is<grant>(first.acquire(stock, alice)));
  EXPECT_TRUE(is<grant>(second.acquire(stock, bob)));
}

TEST(MemoryStore, ANamedStoreIsSharedAndGoesWithItsLastHandle) {
  resource stock("stock:1");
  fencing_token before;
  {
    client first(memory, "memory:shared");
    client second(memory, "memory:shared");
    client other(memory, "memory:other");
    before = as<grant>(first.acquire(stock, alice)).fencing;
    EXPECT_TRUE(is<busy>(second.acquire(stock, bob)));
    EXPECT_TRUE(is<grant>(other.acquire(stock, bob)));
  }
  client anew(memory, "memory:shared");
  EXPECT_GT(as<grant>(anew.acquire(stock, bob)).fencing, before);
}

TEST(MemoryStore, EntriesAreBoundedByName) {
  client c(memory, "memory:?max_entries=2");
  cache_key third("c");
  EXPECT_TRUE(is<grant>(c.acquire(resource("a"), alice)));
  EXPECT_TRUE(c.put(cache_key("b"), std::string("v")).has_value());
  for (failure why : {c.put(third, std::string("v")).error(), c.claim(third, alice).error(),
                      c.acquire(resource("c"), alice).error()}) {
    EXPECT_TRUE(why == errc::overloaded);
    for (char const* part : {"'c'", "memory:", "max_entries"}) {
      EXPECT_NE(why.message.find(part), std::string::npos) << why.message;
    }
  }
  EXPECT_TRUE(c.put(cache_key("b"), std::string("w")).has_value());
  c.release(resource("a"), alice).value();
  EXPECT_TRUE(c.put(third, std::string("v")).has_value());
}

TEST(MemoryStore, ExpiredEntriesMakeRoom) {
  client c(memory, "memory:?max_entries=1");
  ASSERT_TRUE(c.put(cache_key("a"), std::string("v"), 20ms).has_value());
  EXPECT_TRUE(eventually([&] { return c.put(cache_key("b"), std::string("v")).has_value(); }));
}

TEST(MemoryStore, BytesAreBoundedByName) {
  client c(memory, "memory:?max_bytes=1000");
  EXPECT_TRUE(c.put(cache_key("k"), std::string(999, 'v')).has_value());
  failure why = c.put(cache_key("k"), std::string(1000, 'v')).error();
  EXPECT_TRUE(why == errc::overloaded);
  EXPECT_NE(why.message.find("max_bytes"), std::string::npos) << why.message;
  EXPECT_EQ(text_of(c.look(cache_key("k"))), std::string(999, 'v'));
}

TEST(MemoryStore, WaitersAreBoundedByName) {
  client c(memory, "memory:?max_waiters=2");
  resource stock("stock:1");
  cache_key key("k");
  c.acquire(stock, alice).value();
  c.claim(key, alice).value();
  auto first = c.start_acquire({stock, bob, 1min, 1min});
  auto second = c.start_watch({key, 1min});
  EXPECT_TRUE(c.get(c.start_acquire({stock, bob, 1min, 1min})).error() == errc::overloaded);
  EXPECT_TRUE(c.watch(key, 1min).error() == errc::overloaded);
  first.cancel();
  EXPECT_TRUE(c.get(first).error() == errc::canceled);
  auto third = c.start_watch({key, 1min});
  c.fill(key, alice, std::string("v")).value();
  EXPECT_TRUE(is<cache_hit>(c.get(second)));
  EXPECT_TRUE(is<cache_hit>(c.get(third)));
}

TEST(MemoryStore, AUrlThatMeansNothingIsRefused) {
  for (std::string url : {"memory:?max_entries=0", "memory:?max_bytes=many", "memory:?colour=red",
                          "memory://host/x", "memory:/x", "memory:?max_waiters=-1"}) {
    EXPECT_TRUE(refusal(url) == errc::invalid_url) << url;
  }
}

// The queue's cost does not depend on its length: 20,000 waiters, each handed to in turn.
TEST(MemoryStore, ALongQueueIsServedToItsEnd) {
  client c(memory, "memory:");
  resource stock("stock:1");
  c.acquire(stock, alice).value();
  std::vector<owner_token> owners;
  std::vector<pending<acquire_reply>> waiting;
  for (int i = 0; i < 20'000; ++i) {
    owners.push_back(owner_token::generate());
    waiting.push_back(c.start_acquire({stock, owners.back(), 1min, wait_forever}));
  }
  c.release(stock, alice).value();
  for (std::size_t i = 0; i < owners.size(); ++i) {
    ASSERT_TRUE(is<grant>(c.get(waiting[i])));
    c.release(stock, owners[i]).value();
  }
  EXPECT_FALSE(c.inspect(stock).value().has_value());
}

}  // namespace
}  // namespace herdlock_test
