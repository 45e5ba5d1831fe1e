// What nodes of a Redis Cluster answer, also when they are broken or hostile.
#include <gtest/gtest.h>

#include "stores/redis/cluster/redirection.hpp"
#include "stores/redis/cluster/slots.hpp"

namespace {

using namespace herdlock;
using namespace herdlock::redis;

node_address const asked{"10.0.0.9", 7000};

// Builds the reply to CLUSTER SLOTS.
class slots_reply {
 public:
  explicit slots_reply(std::size_t ranges) { list(ranges); }
  slots_reply& list(std::size_t size) {
    made_.add(reply_kind::list, size, "");
    return *this;
  }
  slots_reply& number(std::string const& digits) {
    made_.add(reply_kind::number, 0, digits);
    return *this;
  }
  slots_reply& text(std::string_view bytes) {
    made_.add(reply_kind::text, 0, bytes);
    return *this;
  }
  slots_reply& range(std::string const& first, std::string const& last, std::string_view host,
                     std::string const& port) {
    return list(3).number(first).number(last).list(4).text(host).number(port).text("id").list(0);
  }
  result<cluster_map> parse() const { return cluster_map::parse(made_, asked); }

 private:
  reply made_;
};

TEST(RedisClusterMap, NamesTheMasterOfEachSlot) {
  auto const map = slots_reply(3)
                       .range("0", "99", "10.0.0.1", "7001")
                       .range("101", "16383", "10.0.0.2", "7002")
                       .range("100", "100", "10.0.0.1", "7001")
                       .parse();
  ASSERT_TRUE(map.has_value()) << map.error().message;
  EXPECT_EQ(*map->owner(0), (node_address{"10.0.0.1", 7001}));
  EXPECT_EQ(*map->owner(100), (node_address{"10.0.0.1", 7001}));
  EXPECT_EQ(*map->owner(101), (node_address{"10.0.0.2", 7002}));
  EXPECT_EQ(*map->owner(16383), (node_address{"10.0.0.2", 7002}));
  EXPECT_EQ(map->masters().size(), 2u);
}

// Replicas, and what newer servers add about a node (names and values), are passed over.
TEST(RedisClusterMap, PassesOverReplicasAndMetadata) {
  slots_reply answer(2);
  answer.list(4).number("0").number("10");
  answer.list(4).text("a").number("1").text("id").list(2).text("hostname").text("a.example");
  answer.list(4).text("replica").number("2").text("id").list(0);
  answer.range("11", "20", "b", "3");
  auto const map = answer.parse();
  ASSERT_TRUE(map.has_value()) << map.error().message;
  EXPECT_EQ(map->owner(15)->host, "b");
  EXPECT_FALSE(map->has({"replica", 2}));
  EXPECT_EQ(map->owner(21), nullptr);
}

TEST(RedisClusterMap, ANodeThatDoesNotKnowItsHostIsTheOneThatWasAsked) {
  for (std::string_view const host : {"", "?"}) {
    auto const map = slots_reply(1).range("0", "16383", host, "7001").parse();
    ASSERT_TRUE(map.has_value()) << map.error().message;
    EXPECT_EQ(map->owner(5)->host, asked.host);
  }
}

TEST(RedisClusterMap, NoSlotsAtAllIsAClusterThatIsNotSetUp) {
  auto const map = slots_reply(0).parse();
  ASSERT_TRUE(map.has_error());
  EXPECT_EQ(map.error(), errc::unavailable);
  EXPECT_NE(map.error().message.find("--cluster create"), std::string::npos);
}

TEST(RedisClusterMap, NonsenseIsNamed) {
  auto const refused = [](slots_reply const& answer, std::string_view word) {
    auto const map = answer.parse();
    ASSERT_TRUE(map.has_error()) << word;
    EXPECT_EQ(map.error(), errc::protocol) << map.error().message;
    EXPECT_NE(map.error().message.find(word), std::string::npos) << map.error().message;
  };
  refused(slots_reply(1).range("0", "16384", "a", "1"), "no range");
  refused(slots_reply(1).range("-1", "5", "a", "1"), "no range");
  refused(slots_reply(1).range("6", "5", "a", "1"), "no range");
  refused(slots_reply(1).range("x", "5", "a", "1"), "no bounds");
  refused(slots_reply(1).range("99999999999999999999", "5", "a", "1"), "no bounds");
  refused(slots_reply(1).range("0", "5", "a", "0"), "address");
  refused(slots_reply(1).range("0", "5", "a", "65536"), "address");
  refused(slots_reply(1).range("0", "5", "a b", "1"), "address");
  refused(slots_reply(1).range("0", "5", std::string(256, 'a'), "1"), "address");
  refused(slots_reply(2).range("0", "5", "a", "1").range("5", "6", "b", "1"), "twice");
  refused(slots_reply(2).range("0", "5", "a", "1"), "cut off");
  refused(slots_reply(1).list(3).number("0").number("5").list(1U << 30), "cut off");
  refused(slots_reply(1).list(2).number("0").number("5"), "no master");
  refused(slots_reply(1).list(3).number("0").number("5").text("a"), "no address");
  refused(slots_reply(1).list(3).number("0").number("5").list(1).text("a"), "no address");
  refused(slots_reply(1).text("a"), "no bounds");
  EXPECT_EQ(cluster_map::parse(reply{}, asked).error(), errc::protocol);
}

TEST(RedisClusterMap, TakesAsManyMastersAsAClusterMayHaveAndNotOneMore) {
  auto const with = [](std::size_t masters) {
    slots_reply answer(masters);
    for (std::size_t i = 0; i < masters; ++i) {
      auto const slot = std::to_string(i);
      answer.range(slot, slot, "a", std::to_string(i + 1));
    }
    return answer.parse();
  };
  ASSERT_TRUE(with(max_nodes).has_value());
  EXPECT_EQ(with(max_nodes).value().masters().size(), max_nodes);
  EXPECT_EQ(with(max_nodes + 1).error(), errc::protocol);
  auto full = with(max_nodes).value();
  full.move(3, {"one-more", 1});
  EXPECT_EQ(full.owner(3)->host, "a");
}

TEST(RedisClusterMap, ARedirectionMovesOneSlot) {
  auto map = slots_reply(1).range("0", "16383", "a", "1").parse().value();
  map.move(7, {"b", 2});
  EXPECT_EQ(map.owner(7)->host, "b");
  EXPECT_EQ(map.owner(8)->host, "a");
  EXPECT_EQ(cluster_map().owner(7), nullptr);
}

TEST(RedisRedirection, IsReadAsTheNodesWriteIt) {
  auto const moved = parse_redirection("MOVED 3999 127.0.0.1:6381", asked);
  ASSERT_TRUE(moved.has_value());
  EXPECT_EQ(moved->kind, redirection_kind::moved);
  EXPECT_EQ(moved->slot, 3999);
  EXPECT_EQ(moved->to, (node_address{"127.0.0.1", 6381}));
  EXPECT_EQ(parse_redirection("ASK 1 ::1:6381", asked)->to, (node_address{"::1", 6381}));
  EXPECT_EQ(parse_redirection("MOVED 1 :6381", asked)->to, (node_address{asked.host, 6381}));
  EXPECT_EQ(parse_redirection("TRYAGAIN Multiple keys request", asked)->kind,
            redirection_kind::try_again);
  EXPECT_EQ(parse_redirection("CLUSTERDOWN Hash slot not served", asked)->kind,
            redirection_kind::down);
  EXPECT_EQ(parse_redirection("LOADING Redis is loading", asked)->kind, redirection_kind::down);
}

// Redis 6.2, 7.0, Valkey 8. Its outcome is unknown, and each script allows to be asked again.
TEST(RedisRedirection, AScriptThatWasCutInASlotOnTheMoveIsAskedAgain) {
  for (std::string_view const line :
       {"ERR Error running script (call to f_1): @user_script:1: @user_script: 1: Script attempted "
        "to access a non local key in a cluster node",
        "ERR Script attempted to access a non local key in a cluster node script: f_1, on "
        "@user_script:1."}) {
    auto const read = parse_redirection(line, asked);
    ASSERT_TRUE(read.has_value()) << line;
    EXPECT_EQ(read->kind, redirection_kind::try_again) << line;
  }
}

TEST(RedisRedirection, GarbledOnesGoNowhere) {
  for (std::string_view const line :
       {"MOVED", "MOVED ", "MOVED 1", "MOVED x 127.0.0.1:1", "MOVED 16384 127.0.0.1:1",
        "MOVED 1 127.0.0.1", "MOVED 1 127.0.0.1:0", "MOVED 1 127.0.0.1:99999", "MOVED 1 a b:1",
        "ASK -1 127.0.0.1:1", "ASK 1 127.0.0.1:1 "}) {
    auto const read = parse_redirection(line, asked);
    ASSERT_TRUE(read.has_value()) << line;
    EXPECT_EQ(read->kind, redirection_kind::garbled) << line;
  }
}

// A script that failed in the middle has done something: it must not run again by itself.
TEST(RedisRedirection, OtherErrorsAreNone) {
  for (std::string_view const line :
       {"", "ERR Error running script: MOVED 1 127.0.0.1:1", "MOVEDX 1 127.0.0.1:1",
        "ERR CLUSTERDOWN", "READONLY You can't write"}) {
    EXPECT_FALSE(parse_redirection(line, asked).has_value()) << line;
  }
}

}  // namespace
