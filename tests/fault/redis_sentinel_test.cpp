// Sentinels: a master that is found, lost and found again; and what is said when there is none.
#include <atomic>
#include <set>
#include <support/redis_sentinels.hpp>
#include <thread>

#include "owners.hpp"
#include "redis_ports.hpp"

namespace herdlock_test {
namespace {

std::string with(std::string const& url, std::string const& options) {
  return url + (url.find('?') == std::string::npos ? "?" : "&") + options;
}

TEST(RedisSentinel, TheMasterIsFoundWhicheverSentinelAnswers) {
  redis_sentinels group;
  redis_ports ports(group.url());
  EXPECT_GT(fence_of(ports.acquire("r", mine)), 0u);
  EXPECT_EQ(group.master().cli("EXISTS r"), "1");
  group.sentinel(0).kill();
  group.sentinel(1).pause();
  redis_ports second(group.url());
  auto const reply = second.acquire("r", other);
  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_TRUE(std::holds_alternative<busy>(*reply));
}

// Where the master is, is known by its first answer; a list's cursor must not be good for less.
TEST(RedisSentinel, AListOfManyPartsMayBeTheFirstThingAsked) {
  redis_sentinels group;
  redis_ports(group.url()).acquire("r", mine).value();
  group.master().command({"EVAL", "for i = 1, 600 do redis.call('SET', 'k' .. i, 'x') end", "0"});
  redis_ports ports(group.url());
  list_request next;
  std::set<std::string> names;
  int parts = 0;
  do {
    auto const page =
        ports.get<lease_page>([&](auto done) { ports.leases().list(next, std::move(done)); });
    ASSERT_TRUE(page.has_value()) << page.error().message;
    for (auto const& name : page->names) names.insert(name.str());
    next.cursor = page->cursor;
    ++parts;
  } while (!next.cursor.empty());
  EXPECT_GT(parts, 1);
  EXPECT_EQ(names, std::set<std::string>{"r"});
}

// B7: on the way to the master. Each lane cuts at some of the bytes, so that the pauses overlap.
void cut_the_question(redis_sentinels& group, direction way, std::size_t first, std::size_t step,
                      std::atomic<std::size_t>& cuts) {
  std::string const name = "r" + std::to_string(first);
  for (std::size_t n = first; !testing::Test::HasFailure(); n += step) {
    SCOPED_TRACE("cut after " + std::to_string(n) + " bytes");
    relay through(group.sentinel(0).port());
    through.cut_after_bytes(way, n);
    redis_ports ports("redis+sentinel://127.0.0.1:" + std::to_string(through.port()) + "/mymaster");
    auto const owner = owner_token::generate();
    auto reply = ports.acquire(name, owner);
    bool const was_cut = !through.cut_pending();
    through.disarm();
    EXPECT_TRUE(reply.has_value() || was_cut);
    EXPECT_TRUE(ports.wait_for(
        [&] { return reply.has_value() || (reply = ports.acquire(name, owner)).has_value(); }));
    EXPECT_GT(fence_of(reply), 0u);
    EXPECT_EQ(ports.release(name, owner).value(), release_reply::released);
    if (!was_cut) return;
    ++cuts;
  }
}

TEST(RedisSentinel, ACutAnywhereInTheQuestionForTheMasterIsAskedAgain) {
  constexpr std::size_t lanes = 16;
  redis_sentinels group;
  for (auto way : {direction::to_server, direction::to_client}) {
    std::atomic<std::size_t> cuts{0};
    std::vector<std::thread> all;
    for (std::size_t i = 0; i < lanes; ++i) {
      all.emplace_back([&, i] { cut_the_question(group, way, i, lanes, cuts); });
    }
    for (auto& one : all) one.join();
    std::printf("%s: %zu cuts\n", way == direction::to_server ? "requests" : "replies",
                cuts.load());
    EXPECT_GT(cuts, 100u);
  }
  EXPECT_EQ(group.master().cli("EXISTS r0 r1 r2 r3"), "0");
}

// B16: after a failover the lock is neither held twice nor out of reach.
TEST(RedisSentinel, AKilledMasterIsFollowedByTheNextAndLeasesGoOn) {
  redis_sentinels group;
  redis_ports ports(with(group.url(), "wait_replicas=2"));
  auto const first = fence_of(ports.acquire("r", mine));
  auto const old = group.master().port();
  group.kill_master();
  group.await_master_other_than(old);
  // One of two replicas is the master now, so two of them can not confirm any more: no renewal
  // counts, but nobody else gets it.
  std::string last;
  EXPECT_TRUE(ports.wait_for([&] {
    auto const reply = ports.acquire("r", other);
    last = reply.has_error() ? reply.error().message : "granted";
    return reply.has_value() && std::holds_alternative<busy>(*reply);
  })) << last;
  redis_ports plain(group.url());
  auto const renewed = plain.renew("r", mine, 30s);
  ASSERT_TRUE(renewed.has_value()) << renewed.error().message;
  EXPECT_EQ(*renewed, renew_reply::renewed);
  EXPECT_TRUE(plain.release("r", mine).has_value());
  EXPECT_GT(fence_of(plain.acquire("r", other)), first);
}

TEST(RedisSentinel, AMasterThatHangsIsFollowedByTheNext) {
  redis_sentinels group;
  redis_ports ports(with(group.url(), "timeout=1s"));
  ASSERT_TRUE(ports.wait_for([&] { return ports.acquire("r", mine).has_value(); }));
  auto& old = group.master();
  old.pause();
  EXPECT_TRUE(ports.wait_for([&] { return ports.acquire("later", mine).has_value(); }));
  EXPECT_NE(group.master().port(), old.port());
  EXPECT_EQ(group.master().cli("EXISTS later"), "1");
  old.resume();
}

TEST(RedisSentinel, AReplacedMasterIsLeftAtOnce) {
  redis_sentinels group;
  redis_ports ports(group.url());
  fence_of(ports.acquire("r", mine));
  group.failover();
  // The old master may take one more, which is lost.
  EXPECT_TRUE(ports.wait_for([&] {
    return ports.acquire("later", mine).has_value() && group.master().cli("EXISTS later") == "1";
  }));
  EXPECT_TRUE(ports.put("k", std::string("v")).has_value());
}

TEST(RedisSentinel, PasswordsOfServersAndSentinelsAreTwoThings) {
  redis_sentinels group({.password = "opensesame", .sentinel_password = "guardsesame"});
  redis_ports ports(group.url());
  EXPECT_GT(fence_of(ports.acquire("r", mine)), 0u);
  std::string url = group.url();
  url.replace(url.find("guardsesame"), 11, "wrongsesame");
  expect_refused(url, errc::access_denied, "sentinel_password");
  expect_refused(url.substr(0, url.find('?')), errc::access_denied, "sentinel_password");
}

TEST(RedisSentinel, AWrongNameIsToldAtOnce) {
  redis_sentinels group;
  expect_refused(with(group.url("hismaster"), "timeout=5m"), errc::invalid_url, "'hismaster'");
}

TEST(RedisSentinel, SentinelsThatAreAllDownAreNamed) {
  redis_sentinels group;
  group.kill_sentinels();
  auto const url = with(group.url(), "timeout=500ms");
  for (std::size_t i = 0; i < 3; ++i) {
    expect_refused(url, errc::unavailable,
                   "sentinel 127.0.0.1:" + std::to_string(group.sentinel(i).port()));
  }
}

TEST(RedisSentinel, ASentinelInPlaceOfAServerIsToldHowToWriteIt) {
  redis_sentinels group;
  expect_refused("redis://127.0.0.1:" + std::to_string(group.sentinel(0).port()),
                 errc::not_supported, "redis+sentinel://");
}

TEST(RedisSentinel, BadUrlsGetOneClearLine) {
  asio::io_context io;
  for (auto const* text :
       {"redis+sentinel://h1,h2", "redis+sentinel://h1,h2/", "redis+sentinel://h1/m/x",
        "redis+sentinel://h1/m?sentinel_user=u", "redis://h?wait_replicas=17",
        "redis://h?wait_replicas=-1", "redis://h?wait_replicas=1&wait_timeout=1500ms",
        "redis://h?wait_timeout=1s", "redis://h?quarantine=maybe", "redis://h?quarantine_ttl=1s",
        "redis://h?quarantine=on&quarantine_ttl=1ms"}) {
    auto const url = store_url::parse(text);
    ASSERT_TRUE(url.has_value()) << text;
    auto const opened = open_redis(*url, io.get_executor());
    ASSERT_TRUE(opened.has_error()) << text;
    EXPECT_EQ(opened.error(), errc::invalid_url) << text;
    EXPECT_EQ(opened.error().message.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace herdlock_test
