// Which value of what a Redis server sends is whose: replies in their order, pushes between them.
#include <gtest/gtest.h>

#include "stores/redis/client/awaited_replies.hpp"
#include "stores/redis/client/life_signs.hpp"
#include "stores/redis/client/outgoing_bytes.hpp"
#include "stores/redis/client/raw_command.hpp"
#include "stores/redis/client/receive_buffer.hpp"

namespace {

using namespace herdlock::redis;
using asker = awaited_replies::asker;
using words = std::vector<std::string>;

constexpr std::string_view a_push = ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n";
constexpr std::string_view subscribed = ">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n";

batch_ptr gets(std::size_t count) {
  auto made = make_batch();
  for (std::size_t i = 0; i < count; ++i) ask(*made, {"GET", "k"});
  return made;
}

std::string text_of(reply const& one) {
  std::string all;
  for (std::size_t i = 0; i < one.nodes(); ++i) all += (i ? " " : "") + std::string(one.text(i));
  return all;
}

// Everything that is in the bytes: whose it is, and what.
words told(awaited_replies& from, std::string_view bytes) {
  words all;
  while (true) {
    bytes.remove_prefix(from.read(bytes).consumed);
    if (!from.complete()) return all;
    constexpr std::string_view names[] = {"commands", "greeting", "health", "refused", "nobody"};
    std::string one(names[static_cast<std::size_t>(from.whose())]);
    if (from.whose() == asker::commands) one += std::to_string(from.number());
    all.push_back(one + ": " + text_of(from.value()));
    if (from.told()) all.emplace_back("over");
  }
}

TEST(RedisAwaitedReplies, AreGivenInTheOrderOfTheWire) {
  awaited_replies awaited;
  awaited.sent(asker::greeting, 1);
  awaited.sent(gets(2));
  awaited.sent(asker::health_check, 1);
  awaited.sent(gets(1));
  std::string const wire = "%1\r\n+server\r\n+redis\r\n$1\r\na\r\n" + std::string(a_push) +
                           "$1\r\nb\r\n$4\r\npong\r\n*2\r\n:1\r\n_\r\n" + std::string(a_push);
  EXPECT_EQ(
      told(awaited, wire),
      (words{"greeting:  server redis", "commands0: a", "nobody:  message c hi", "commands1: b",
             "over", "health: pong", "commands0:  1 ", "over", "nobody:  message c hi"}));
}

TEST(RedisAwaitedReplies, ComeInPiecesOfAnySize) {
  std::string const wire = "|1\r\n+ttl\r\n:1\r\n%1\r\n+a\r\n*1\r\n,1.5\r\n" + std::string(a_push);
  for (std::size_t cut = 0; cut <= wire.size(); ++cut) {
    awaited_replies awaited;
    awaited.sent(gets(1));
    auto const first = std::string_view(wire).substr(0, cut);
    auto const step = awaited.read(first);
    if (awaited.complete()) continue;  // the cut is in the push
    std::string_view const rest = std::string_view(wire).substr(step.consumed);
    EXPECT_EQ(told(awaited, rest), (words{"commands0:  a  1.5", "over", "nobody:  message c hi"}))
        << cut;
  }
}

// A subscription is answered by a push, and refused by an error like any other command's.
TEST(RedisAwaitedReplies, TheRefusalOfASubscriptionIsNobodyElsesReply) {
  awaited_replies awaited;
  awaited.sent(asker::subscription, 1);
  awaited.sent(asker::subscription, 1);
  awaited.sent(gets(1));
  EXPECT_EQ(
      told(awaited, std::string(subscribed) + "-NOPERM no\r\n-WRONGTYPE\r\n"),
      (words{"nobody:  subscribe c 1", "refused: NOPERM no", "commands0: WRONGTYPE", "over"}));
}

TEST(RedisAwaitedReplies, ASubscriptionWithoutAnAnswerHoldsNothingUp) {
  awaited_replies awaited;
  awaited.sent(asker::subscription, 1);
  awaited.sent(gets(1));
  EXPECT_EQ(told(awaited, "+OK\r\n"), (words{"commands0: OK", "over"}));
}

TEST(RedisAwaitedReplies, AnErrorThatNobodyAskedForIsNobodys) {
  awaited_replies awaited;
  EXPECT_EQ(told(awaited, "-ERR max number of clients reached\r\n"),
            (words{"nobody: ERR max number of clients reached"}));
}

TEST(RedisAwaitedReplies, WhatIsNotAnsweredIsGivenBackInItsOrder) {
  awaited_replies awaited;
  awaited.sent(gets(2));
  awaited.sent(asker::health_check, 1);
  awaited.sent(gets(1));
  EXPECT_EQ(told(awaited, "+a\r\n$5\r\nhal"), (words{"commands0: a"}));
  EXPECT_EQ(awaited.take_unanswered()->commands.size(), 2u);
  EXPECT_EQ(awaited.take_unanswered()->commands.size(), 1u);
  EXPECT_EQ(awaited.take_unanswered(), nullptr);
}

TEST(RedisAwaitedReplies, WhatIsNoReplyIsNamed) {
  awaited_replies awaited;
  awaited.sent(gets(1));
  EXPECT_EQ(awaited.read("HTTP/1.1 400\r\n").is, herdlock::resp::parser::outcome::broken);
  EXPECT_EQ(awaited.problem(), "no value begins with 'H'");
}

void put(receive_buffer& into, std::string_view bytes, std::size_t missing = 1) {
  into.expect(missing);
  auto const room = into.prepare();
  ASSERT_GE(room.size(), bytes.size());
  std::copy(bytes.begin(), bytes.end(), room.begin());
  into.commit(bytes.size());
}

TEST(RedisReceiveBuffer, KeepsWhatIsUnreadWhateverIsTakenInBetween) {
  receive_buffer buffer;
  std::string expected;
  for (std::size_t i = 0; i < 3000; ++i) {
    std::string const bytes(i % 97 + 1, static_cast<char>('a' + i % 26));
    put(buffer, bytes);
    expected += bytes;
    std::size_t const taken = std::min(expected.size(), i * 7 % 89);
    buffer.consume(taken);
    expected.erase(0, taken);
    ASSERT_EQ(buffer.unread(), expected) << i;
  }
}

TEST(RedisReceiveBuffer, GrowsWithWhatCameAndNotWithWhatWasAnnounced) {
  receive_buffer buffer;
  buffer.expect(500'000'000);
  EXPECT_EQ(buffer.prepare().size(), receive_buffer::usual_bytes);
  std::string const piece(receive_buffer::usual_bytes, 'x');
  for (int i = 0; i < 8; ++i) put(buffer, piece, 500'000'000);
  EXPECT_LE(buffer.prepare().size(), 8 * receive_buffer::usual_bytes);
  buffer.consume(8 * piece.size());
  buffer.expect(1);
  EXPECT_EQ(buffer.prepare().size(), receive_buffer::usual_bytes) << "what was large is kept";
}

class RedisLifeSigns : public testing::Test {
 protected:
  using verdict = life_signs::verdict;
  verdict check(life_signs::untold left = life_signs::untold::nothing) { return signs.check(left); }
  life_signs signs;
};

TEST_F(RedisLifeSigns, AHangIsSilenceAtTwoChecksBehindAQuestion) {
  EXPECT_EQ(check(), verdict::ask);
  EXPECT_EQ(check(), verdict::alive);
  signs.on_read();  // a part of something large
  EXPECT_EQ(check(), verdict::alive);
  signs.on_read();
  signs.on_answer();
  EXPECT_EQ(check(), verdict::ask);
  EXPECT_EQ(check(), verdict::alive);
  EXPECT_EQ(check(), verdict::hangs);
}

TEST_F(RedisLifeSigns, OtherRepliesInFrontOfTheAnswerAreABacklog) {
  EXPECT_EQ(check(), verdict::ask);
  signs.on_read();
  signs.on_value();
  EXPECT_EQ(check(), verdict::alive);
  signs.on_read();
  signs.on_value();
  EXPECT_EQ(check(), verdict::hangs);
}

TEST_F(RedisLifeSigns, TheAnswerMayBeInWhatIsNotToldYet) {
  EXPECT_EQ(check(), verdict::ask);
  for (int i = 0; i < 5; ++i) {
    signs.on_value();
    EXPECT_EQ(check(life_signs::untold::some), verdict::alive);
  }
}

TEST(RedisOutgoingBytes, NothingIsAddedToALineThatIsFarBehind) {
  outgoing_bytes out;
  out.add("PING");
  EXPECT_FALSE(out.enough());
  out.next();
  out.add(std::string(300'000, 'x'));
  EXPECT_TRUE(out.enough());
  out.on_written();
  out.next();
  EXPECT_FALSE(out.enough());
}

TEST(RedisOutgoingBytes, WhatIsAddedDuringAWriteGoesOutWithTheNext) {
  outgoing_bytes out;
  EXPECT_EQ(out.next(), "");
  out.add("a");
  EXPECT_EQ(out.next(), "a");
  out.add("b");
  out.add_request({"PING"});
  EXPECT_EQ(out.next(), "") << "one is under way";
  out.on_written();
  EXPECT_EQ(out.next(), "b*1\r\n$4\r\nPING\r\n");
  out.on_written();
  EXPECT_EQ(out.next(), "");
}

}  // namespace
