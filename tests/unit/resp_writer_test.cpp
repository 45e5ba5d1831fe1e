// The protocol of Redis, written: what was written is read again as what it was.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "resp/writer.hpp"
#include "resp_values.hpp"

namespace herdlock_test {
namespace {

using namespace std::string_view_literals;
using herdlock::resp::value_writer;
using herdlock::resp::version;

std::string request(std::vector<std::string_view> const& words) {
  std::string bytes;
  herdlock::resp::write_request(bytes, words);
  return bytes;
}

TEST(RespWriter, WritesRequestsAsListsOfTexts) {
  EXPECT_EQ(request({"PING"}), "*1\r\n$4\r\nPING\r\n");
  EXPECT_EQ(request({"SET", "", "a\r\nb"}), "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$4\r\na\r\nb\r\n");
}

TEST(RespWriter, WhatItWroteIsReadAgain) {
  std::string const large(100'000, 'x');
  herdlock::resp::parser_limits requests;
  requests.speech = herdlock::resp::grammar::requests;
  auto const bytes = request({"SET", "k\0\xff"sv, large}) + request({"PING"});
  auto const set = "list3 text(SET) text(" + std::string("k\0\xff"sv) + ") text(" + large + ")";
  EXPECT_EQ(parse_whole(bytes, requests), (parsed_stream{{set, "list1 text(PING)"}}));
}

template <class F>
std::string written(version spoken, F write) {
  std::string bytes;
  value_writer writer(bytes, spoken);
  write(writer);
  auto const read = parse_whole(bytes);
  EXPECT_EQ(read.problem, "") << bytes;
  EXPECT_EQ(read.values.size(), 1u) << bytes;
  return read.values.empty() ? "" : read.values.front();
}

struct sample {
  void (*write)(value_writer&);
  std::string_view three, two;
};

TEST(RespWriter, SaysEachValueInBothVersions) {
  for (auto const& [write, three, two] : std::vector<sample>{
           {[](auto& to) { to.status("OK"); }, "status(OK)", "status(OK)"},
           {[](auto& to) { to.status("a\r\nb"); }, "status(a  b)", "status(a  b)"},
           {[](auto& to) { to.error("ERR no\n+OK"); }, "error(ERR no +OK)", "error(ERR no +OK)"},
           {[](auto& to) { to.text(""); }, "text()", "text()"},
           {[](auto& to) { to.verbatim("txt", "a"); }, "verbatim/txt(a)", "text(a)"},
           {[](auto& to) { to.number(std::numeric_limits<std::int64_t>::min()); },
            "number(-9223372036854775808)", "number(-9223372036854775808)"},
           {[](auto& to) { to.real(0.1); }, "real(0.1)", "text(0.1)"},
           {[](auto& to) { to.real(-HUGE_VAL); }, "real(-inf)", "text(-inf)"},
           {[](auto& to) { to.real(-std::nan("")); }, "real(nan)", "text(nan)"},
           {[](auto& to) { to.real(-1.7976931348623157e308); }, "real(-1.7976931348623157e+308)",
            "text(-1.7976931348623157e+308)"},
           {[](auto& to) { to.big_number("123"); }, "big(123)", "text(123)"},
           {[](auto& to) { to.yes(); }, "boolean(t)", "number(1)"},
           {[](auto& to) { to.no(); }, "boolean(f)", "number(0)"},
           {[](auto& to) { to.null(); }, "null()", "null()"},
           {[](auto& to) { to.null_list(); }, "null()", "null()"},
           {[](auto& to) { to.list(0); }, "list0", "list0"},
           {[](auto& to) { to.set(1), to.number(1); }, "set1 number(1)", "list1 number(1)"},
           {[](auto& to) { to.push(1), to.text("x"); }, "push1 text(x)", "list1 text(x)"},
           {[](auto& to) { to.map(1), to.text("a"), to.number(1); }, "map2 text(a) number(1)",
            "list2 text(a) number(1)"}}) {
    EXPECT_EQ(written(version::three, write), three);
    EXPECT_EQ(written(version::two, write), two);
  }
}

}  // namespace
}  // namespace herdlock_test
