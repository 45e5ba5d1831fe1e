// The protocol of Redis, read: each type, in pieces of every size, malformed, beyond the limits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>

#include "resp_values.hpp"

namespace {
std::size_t largest_allocation = 0;
}  // namespace

// Not inlined: the compiler would see malloc and free behind new and delete, and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  largest_allocation = std::max(largest_allocation, bytes);
  if (void* const got = std::malloc(bytes)) return got;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* what) noexcept { std::free(what); }
[[gnu::noinline]] void operator delete(void* what, std::size_t) noexcept { std::free(what); }

namespace herdlock_test {
namespace {

using namespace std::string_literals;
using herdlock::resp::grammar;
using herdlock::resp::parser;
using herdlock::resp::parser_limits;

struct sample {
  std::string stream;
  std::string value;
};

std::vector<sample> const samples = {
    {"+OK\r\n", "status(OK)"},
    {"+\r\n", "status()"},
    {"-ERR no such key\r\n", "error(ERR no such key)"},
    {"!8\r\nERR a\r\nb\r\n", "error(ERR a\r\nb)"},
    {":0\r\n", "number(0)"},
    {":-9223372036854775808\r\n", "number(-9223372036854775808)"},
    {":+42\r\n", "number(42)"},
    {"$5\r\nhello\r\n", "text(hello)"},
    {"$0\r\n\r\n", "text()"},
    {"$7\r\na\r\nb\0c\xff\r\n"s, "text(a\r\nb\0c\xff)"s},
    {"$-1\r\n", "null()"},
    {"*-1\r\n", "null()"},
    {"_\r\n", "null()"},
    {"#t\r\n", "boolean(t)"},
    {"#f\r\n", "boolean(f)"},
    {",3.25\r\n", "real(3.25)"},
    {",-1e+300\r\n", "real(-1e+300)"},
    {",10\r\n", "real(10)"},
    {",inf\r\n", "real(inf)"},
    {",-inf\r\n", "real(-inf)"},
    {",nan\r\n", "real(nan)"},
    {"(3492890328409238509324850943850943825024385\r\n",
     "big(3492890328409238509324850943850943825024385)"},
    {"(-1\r\n", "big(-1)"},
    {"=9\r\ntxt:a\r\nbc\r\n", "verbatim/txt(a\r\nbc)"},
    {"=4\r\nmkd:\r\n", "verbatim/mkd()"},
    {"*0\r\n", "list0"},
    {"*2\r\n:1\r\n$1\r\nx\r\n", "list2 number(1) text(x)"},
    {"*2\r\n*1\r\n*0\r\n_\r\n", "list2 list1 list0 null()"},
    {"%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n", "map4 status(a) number(1) status(b) list1 number(2)"},
    {"%0\r\n", "map0"},
    {"~2\r\n#t\r\n,1.5\r\n", "set2 boolean(t) real(1.5)"},
    {">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n", "push3 text(message) text(c) text(hi)"},
    {">2\r\n$10\r\ninvalidate\r\n_\r\n", "push2 text(invalidate) null()"},
    {"|1\r\n+ttl\r\n:3600\r\n$1\r\nv\r\n", "~attribute2 ~status(ttl) ~number(3600) text(v)"},
    {"|0\r\n:1\r\n", "~attribute0 number(1)"},
    {"*2\r\n|1\r\n+a\r\n*1\r\n+b\r\n:1\r\n:2\r\n",
     "list2 ~attribute2 ~status(a) ~list1 ~status(b) number(1) number(2)"},
    {"|1\r\n+a\r\n|1\r\n+b\r\n+c\r\n+d\r\n+e\r\n",
     "~attribute2 ~status(a) ~attribute2 ~status(b) ~status(c) ~status(d) status(e)"},
};

TEST(RespParser, ReadsEachType) {
  for (auto const& [stream, value] : samples) {
    SCOPED_TRACE(testing::PrintToString(stream));
    EXPECT_EQ(parse_whole(stream), parsed_stream{{value}});
  }
}

TEST(RespParser, ReadsTheSameHoweverItIsCut) {
  for (auto const& [stream, value] : samples) {
    std::vector<std::size_t> each_byte;
    for (std::size_t cut = 0; cut < stream.size(); ++cut) {
      SCOPED_TRACE(testing::PrintToString(stream) + " cut at " + std::to_string(cut));
      EXPECT_EQ(parse_in_pieces(stream, {cut}), parsed_stream{{value}});
      each_byte.push_back(cut);
    }
    EXPECT_EQ(parse_in_pieces(stream, each_byte), parsed_stream{{value}});
  }
}

TEST(RespParser, ReadsManyValuesHoweverTheyAreCut) {
  std::string all;
  parsed_stream expected;
  for (auto const& [stream, value] : samples) {
    all += stream;
    expected.values.push_back(value);
  }
  ASSERT_EQ(parse_whole(all), expected);
  for (std::size_t cut = 0; cut < all.size(); ++cut) {
    ASSERT_EQ(parse_in_pieces(all, {cut}), expected) << cut;
  }
}

TEST(RespParser, SaysHowManyBytesAreMissing) {
  parser one;
  EXPECT_EQ(one.next("").missing, 1u);
  EXPECT_EQ(one.next("$10").missing, 2u);
  EXPECT_EQ(one.next("$10\r").missing, 1u);
  EXPECT_EQ(one.next("$10\r\n").missing, 12u);
  EXPECT_EQ(one.next("$10\r\n012345678").missing, 3u);
  EXPECT_EQ(one.next("$10\r\n0123456789\r\n").found.text, "0123456789");
}

struct fault {
  std::string stream;
  std::string says;
};

TEST(RespParser, NamesWhatIsWrong) {
  for (auto const& [stream, says] :
       std::vector<fault>{{"HTTP/1.1 400 Bad Request\r\n", "no value begins with 'H'"},
                          {"\0"s, "no value begins with '\\x00'"},
                          {"\r\n", "no value begins with"},
                          {"+a\rb\r\n", "carriage return"},
                          {":\r\n", "'' is no number of 64 bits"},
                          {":1x\r\n", "'1x' is no number of 64 bits"},
                          {":9223372036854775808\r\n", "no number of 64 bits"},
                          {":+-1\r\n", "no number of 64 bits"},
                          {": 1\r\n", "no number of 64 bits"},
                          {"#x\r\n", "neither t nor f"},
                          {"#true\r\n", "neither t nor f"},
                          {",\r\n", "'' is no number"},
                          {",1,5\r\n", "'1,5' is no number"},
                          {",0x10\r\n", "is no number"},
                          {",infinity\r\n", "is no number"},
                          {"(12a\r\n", "'12a' is no number"},
                          {"(-\r\n", "is no number"},
                          {"_x\r\n", "a null with a content"},
                          {"$\r\n", "'' is no length of a text"},
                          {"$-2\r\n", "'-2' is no length"},
                          {"$1 \r\n", "no length"},
                          {"$99999999999999999999\r\n", "no length"},
                          {"$1\r\nab\r\n", "does not end where its length says"},
                          {"$1\r\na\n\r", "does not end where its length says"},
                          {"=3\r\nabc\r\n", "without its format"},
                          {"=5\r\ntxtab\r\n", "without its format"},
                          {"=-1\r\n", "no length"},
                          {"!-1\r\n", "no length"},
                          {"*\r\n", "'' is no number of elements"},
                          {"*-2\r\n", "no number of elements"},
                          {"%-1\r\n", "no number of elements"},
                          {"~1.5\r\n", "no number of elements"},
                          {"*1\r\n>1\r\n", "a push inside"},
                          {">0\r\n", "a push without a kind"},
                          {"$?\r\n", "a streamed text"},
                          {"*?\r\n", "a streamed list"},
                          {"%?\r\n", "a streamed list"},
                          {";4\r\n", "a part of a streamed value"},
                          {".\r\n", "a part of a streamed value"},
                          {"*1\r\n*1\r\n:x\r\n", "'x' is no number"}}) {
    SCOPED_TRACE(testing::PrintToString(stream));
    auto const whole = parse_whole(stream);
    EXPECT_TRUE(whole.values.empty());
    EXPECT_NE(whole.problem.find(says), std::string::npos) << whole.problem;
    for (std::size_t cut = 0; cut < stream.size(); ++cut) {
      EXPECT_EQ(parse_in_pieces(stream, {cut}).problem, whole.problem) << cut;
    }
  }
}

TEST(RespParser, StaysBroken) {
  parser one;
  EXPECT_EQ(one.next("?").is, parser::outcome::broken);
  EXPECT_EQ(one.next("+OK\r\n").is, parser::outcome::broken);
}

TEST(RespParser, RefusesWhatIsBeyondItsLimits) {
  parser_limits small;
  small.line_bytes = 8;
  small.text_bytes = 10;
  small.elements = 4;
  small.depth = 3;
  EXPECT_EQ(parse_whole("+1234567\r\n", small).values.size(), 1u);
  EXPECT_NE(parse_whole("+12345678\r\n", small).problem.find("8 bytes"), std::string::npos);
  EXPECT_NE(parse_whole("+12345678", small).problem.find("8 bytes"), std::string::npos);
  EXPECT_EQ(parse_whole("$10\r\n0123456789\r\n", small).values.size(), 1u);
  EXPECT_NE(parse_whole("$11\r\n", small).problem.find("11 bytes; 10"), std::string::npos);
  EXPECT_EQ(parse_whole("*4\r\n_\r\n_\r\n_\r\n_\r\n", small).values.size(), 1u);
  EXPECT_NE(parse_whole("*5\r\n", small).problem.find("4 are the most"), std::string::npos);
  EXPECT_EQ(parse_whole("%2\r\n_\r\n_\r\n_\r\n_\r\n", small).values.size(), 1u);
  EXPECT_NE(parse_whole("%3\r\n", small).problem.find("4 are the most"), std::string::npos);
  EXPECT_EQ(parse_whole("*1\r\n*1\r\n*1\r\n:1\r\n", small).values.size(), 1u);
  EXPECT_NE(parse_whole("*1\r\n*1\r\n*1\r\n*1\r\n", small).problem.find("more than 3"),
            std::string::npos);
}

TEST(RespParser, HasTheLimitsOfAServer) {
  EXPECT_EQ(parse_whole("$536870912\r\n").problem, "");
  EXPECT_NE(parse_whole("$536870913\r\n").problem, "");
  EXPECT_EQ(parse_whole("*1048577\r\n").problem, "");
  EXPECT_NE(parse_whole("*2147483648\r\n").problem, "");
}

TEST(RespParser, AllocatesForWhatCameAndNotForWhatWasAnnounced) {
  parser_limits huge;
  huge.elements = huge.text_bytes = std::numeric_limits<std::size_t>::max() / 2;
  largest_allocation = 0;
  for (std::string const stream :
       {"*1099511627776\r\n:1\r\n", "%1099511627776\r\n", "$1099511627776\r\nx",
        "*2147483647\r\n*2147483647\r\n*2147483647\r\n"}) {
    EXPECT_TRUE(parse_whole(stream, huge).problem.empty());
  }
  EXPECT_LT(largest_allocation, 1024u);
}

TEST(RespParser, ReadsRequestsAsAServer) {
  parser_limits requests;
  requests.speech = grammar::requests;
  EXPECT_EQ(parse_whole("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*0\r\n*-1\r\n", requests),
            (parsed_stream{{"list2 text(GET) text(k)", "list0", "null()"}}));
  EXPECT_EQ(parse_whole("GET k\r\n", requests).problem, "expected '*', got 'G'");
  EXPECT_EQ(parse_whole("*1\r\n:1\r\n", requests).problem, "expected '$', got ':'");
  EXPECT_EQ(parse_whole("*1\r\n*1\r\n", requests).problem, "expected '$', got '*'");
  EXPECT_EQ(parse_whole("*1\r\n$-1\r\n", requests).problem, "a request with a null in it");
}

}  // namespace
}  // namespace herdlock_test
