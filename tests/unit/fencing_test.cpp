// The texts of the SQL guard. That they guard is shown on real databases.
#include <gtest/gtest.h>
#include <herdlock/fencing.hpp>

namespace {

using namespace herdlock;

TEST(SqlFence, TheTextsNameTheColumnAndTheParameter) {
  auto const one = sql_fence::on("fence");
  EXPECT_EQ(one.assignment, "fence = ?");
  EXPECT_EQ(one.predicate, "(fence IS NULL OR fence <= ?)");
  auto const named = sql_fence::on("last_token", ":token");
  EXPECT_EQ(named.assignment, "last_token = :token");
  EXPECT_EQ(named.predicate, "(last_token IS NULL OR last_token <= :token)");
}

TEST(SqlFence, EveryWayToWriteAParameterIsTaken) {
  for (char const* text : {"?", "?12", "$1", "$token", ":token", "@token", "%s"}) {
    EXPECT_NO_THROW(sql_fence::on("fence", text)) << text;
  }
}

TEST(SqlFence, WhatIsNoIdentifierNeverReachesTheStatement) {
  EXPECT_NO_THROW(sql_fence::on(std::string(63, 'a')));
  for (std::string const& text :
       {std::string(), std::string("1st"), std::string("a b"), std::string("a;--"),
        std::string("t.fence"), std::string("\"fence\""), std::string("fence\n"),
        std::string("f\0x", 3), std::string("größe"), std::string(64, 'a')}) {
    try {
      sql_fence::on(text);
      FAIL() << text;
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::invalid_name) << text;
    }
  }
}

TEST(SqlFence, WhatIsNoParameterNeverReachesTheStatement) {
  for (char const* text : {"", "1", "?x", "$", ":", ":a b", "? OR 1=1", "'x'", "%d", "@1"}) {
    try {
      sql_fence::on("fence", text);
      FAIL() << text;
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::invalid_name) << text;
    }
  }
}

}  // namespace
