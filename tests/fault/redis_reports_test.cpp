// What processes report to each other over a Redis, beyond what every store promises: told again to
// those who have missed something.
#include <algorithm>
#include <set>

#include "redis_ports.hpp"

namespace herdlock_test {
namespace {

struct heard_reports final : report_listener {
  std::vector<std::string> texts;
  int hears = 0;
  int deaf = 0;

  void on_report(std::string_view text) override { texts.emplace_back(text); }
  void on_listening() override { ++hears; }
  void on_deaf() override { ++deaf; }
  bool has(std::string const& text) const {
    return std::find(texts.begin(), texts.end(), text) != texts.end();
  }
};

struct redis_reports : testing::Test {
  redis_reports() { server.flush(); }

  static result<void> report(redis_ports& by, std::string process, std::uint64_t number,
                             std::string text, std::string topic = "t") {
    return by.get<void>([&](auto h) {
      by.reports().report({topic, process, number, text}, std::move(h));
    });
  }
  static std::shared_ptr<heard_reports> listen(redis_ports& by, std::string topic = "t") {
    auto const to = std::make_shared<heard_reports>();
    by.reports().listen(std::move(topic), to);
    return to;
  }

  // A report of somebody else that is kept and told to nobody: only a look finds it. Such a look
  // comes within seconds, and what is kept goes in that time: so do this again and again.
  void keep_untold(std::uint64_t number) {
    report(two, "p", number, "again");
    for (auto const* key : {"{t}:herdlock:reports:0", "{t}:herdlock:reports:1"}) {
      if (server.command({"EXISTS", key}) == "1") server.command({"HSET", key, "q", "1 kept"});
    }
  }

  redis_server& server = redis_server::shared();
  redis_ports one{server.url()}, two{server.url()};
};

TEST_F(redis_reports, GoByThemselves) {
  ASSERT_TRUE(report(one, "p", 1, "x"));
  for (auto const* key : {"{t}:herdlock:reports:0", "{t}:herdlock:reports:1"}) {
    auto const left = std::stol(server.command({"PTTL", key}));
    EXPECT_TRUE(left == -2 || (left > 0 && left <= 2 * report_store::keeps_for.count())) << left;
  }
}

// A number is missing, as when the server has thrown away what it could not send.
TEST_F(redis_reports, WhoMissesOneAsksForAll) {
  auto const heard = listen(one);
  ASSERT_TRUE(report(two, "p", 1, "first"));
  ASSERT_TRUE(one.sees([&] { return heard->has("first"); }));
  std::uint64_t number = 100;
  EXPECT_TRUE(one.sees([&] {
    number += 2;
    keep_untold(number);
    server.command({"PUBLISH", "{t}:herdlock:events:0:reports", std::to_string(number) + " x"});
    return heard->has("kept");
  }));
}

TEST_F(redis_reports, AReconnectionCostsOneLook) {
  relay wire(server.port());
  redis_ports cut("redis://127.0.0.1:" + std::to_string(wire.port()));
  auto const far = listen(cut);
  auto const looked = [&](long times) { return server.calls("hscan") == 2 * times; };
  server.command({"CONFIG", "RESETSTAT"});
  ASSERT_TRUE(cut.sees([&] { return looked(1); })) << "of both windows";
  wire.cut_all();
  ASSERT_TRUE(report(two, "p", 1, "first"));
  ASSERT_TRUE(cut.wait_for([&] { return far->has("first"); }));
  // The numbers that it hears behind that are none that it has missed.
  for (std::uint64_t number = 2; number < 5; ++number) {
    auto const text = "report " + std::to_string(number);
    ASSERT_TRUE(report(two, "p", number, text));
    ASSERT_TRUE(cut.wait_for([&] { return far->has(text); }));
  }
  ASSERT_TRUE(cut.sees([&] { return server.calls("hscan") >= 4; }));
  EXPECT_TRUE(looked(2));
}

TEST_F(redis_reports, WhoWasCutOffIsToldAll) {
  auto const heard = listen(one);
  ASSERT_TRUE(report(two, "p", 1, "first"));
  ASSERT_TRUE(one.sees([&] { return heard->has("first"); }));
  relay wire(server.port());
  redis_ports cut("redis://127.0.0.1:" + std::to_string(wire.port()));
  auto const far = listen(cut);
  ASSERT_TRUE(cut.wait_for([&] { return far->has("first"); }));
  wire.cut_all();
  std::uint64_t number = 1;
  EXPECT_TRUE(cut.sees([&] {
    keep_untold(++number);
    return far->has("kept");
  }));
}

// An answer has a bound: what a large fleet reports comes in parts.
TEST_F(redis_reports, ManyReportsAreReadInParts) {
  std::string const script =
      "for i = 1, 1000 do redis.call('HSET', KEYS[1], 'p' .. i, '1 report ' .. i) end";
  server.command({"EVAL", script, "1", "{t}:herdlock:reports:1"});
  server.command({"CONFIG", "RESETSTAT"});
  auto const found =
      one.get<std::vector<std::string>>([&](auto h) { one.reports().read("t", std::move(h)); });
  ASSERT_TRUE(found);
  std::set<std::string> const all(found->begin(), found->end());
  EXPECT_EQ(all.size(), 1000u);
  EXPECT_TRUE(all.contains("report 1000"));
  EXPECT_GE(server.calls("hscan"), 4);
}

TEST_F(redis_reports, AListenerIsToldWhenItHearsAndWhenItIsDeaf) {
  relay wire(server.port());
  redis_ports cut("redis://127.0.0.1:" + std::to_string(wire.port()));
  auto const far = listen(cut);
  EXPECT_EQ(far->hears, 0);
  ASSERT_TRUE(cut.wait_for([&] { return far->hears == 1; }));
  auto const second = listen(cut);
  ASSERT_TRUE(cut.wait_for([&] { return second->hears == 1; }));
  EXPECT_EQ(far->hears, 1) << "once for each subscription";
  wire.cut_all();
  ASSERT_TRUE(cut.wait_for([&] { return far->deaf == 1 && far->hears == 2; }));
  EXPECT_EQ(second->deaf, 1);
}

TEST_F(redis_reports, WhoMayNotSubscribeHearsNothingAndReportsAllTheSame) {
  redis_server refusing({.users = {"alice on >sesame ~* +@all resetchannels"}});
  redis_ports alice("redis://alice:sesame@127.0.0.1:" + std::to_string(refusing.port()));
  auto const hers = listen(alice);
  redis_ports other(refusing.url());
  auto const heard = listen(other);
  EXPECT_TRUE(report(alice, "p", 1, "x"));
  EXPECT_TRUE(report(other, "q", 1, "y"));
  EXPECT_TRUE(other.wait_for([&] { return heard->has("y"); }));
  EXPECT_EQ(hers->hears, 0);
}

TEST_F(redis_reports, AListenerThatHasGoneHearsNothing) {
  auto gone = listen(one, "left");
  auto const heard = listen(one);
  auto const subscribers = [&] {
    return server.command({"PUBSUB", "NUMSUB", "{left}:herdlock:events:0:reports"});
  };
  ASSERT_TRUE(one.wait_for([&] { return subscribers().ends_with("1"); }));
  gone.reset();
  ASSERT_TRUE(report(two, "p", 1, "x"));
  ASSERT_TRUE(one.sees([&] { return heard->has("x"); }));
  EXPECT_TRUE(one.wait_for([&] { return subscribers().ends_with("0"); })) << subscribers();
}

}  // namespace
}  // namespace herdlock_test
