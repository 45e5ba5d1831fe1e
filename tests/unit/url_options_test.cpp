// The options of store URLs: how they are read, and that what the stores declare can be read.
#include <gtest/gtest.h>

#include <set>

#include "stores/common/tls_settings.hpp"
#include "stores/common/url_options.hpp"

namespace herdlock_test {
namespace {

using namespace herdlock;
using namespace std::chrono_literals;
using stores::option_kind;

constexpr stores::url_option options[] = {
    {"timeout", option_kind::duration, "5s", "50ms to 10m", ""},
    {"pool", option_kind::count, "16; 64 in row mode", "1 to 256", ""},
    {"sessions", option_kind::count, "4", "from 2", ""},
    {"mode", option_kind::choice, "table", "table, row", ""},
    {"acl", option_kind::choice, "as the user", "open, creator", ""},
    {"socket", option_kind::text, "", "a path", ""},
};
enum class mode { table, row };

struct taken {
  milliseconds timeout;
  std::size_t pool, sessions;
  mode kind;
  std::string socket;
  failure why;
};

taken take(std::string const& query) {
  auto url = store_url::parse("mysql://me:secret@host/db" + query).value();
  stores::option_reader in(url, {"mysql", {options, stores::tls_options}});
  taken all{in.duration("timeout"), in.count("pool", std::size_t{16}),
            in.count("sessions"),   in.choice<mode>("mode"),
            in.text("socket"),      {}};
  in.chosen("acl");
  stores::take_tls(in);
  all.why = in.end();
  return all;
}

TEST(UrlOptions, HaveTheirDefaultsAndTheStoresWhereWordsTellThem) {
  auto const all = take("");
  EXPECT_FALSE(all.why.code) << all.why.message;
  EXPECT_EQ(all.timeout, 5s);
  EXPECT_EQ(all.pool, 16u);
  EXPECT_EQ(all.sessions, 4u);
  EXPECT_EQ(all.kind, mode::table);
  EXPECT_EQ(all.socket, "");
}

TEST(UrlOptions, AreTakenFromTheUrl) {
  auto const all = take("?timeout=50ms&pool=256&sessions=2&mode=row&socket=/s&acl=open");
  EXPECT_FALSE(all.why.code) << all.why.message;
  EXPECT_EQ(all.timeout, 50ms);
  EXPECT_EQ(all.pool, 256u);
  EXPECT_EQ(all.sessions, 2u);
  EXPECT_EQ(all.kind, mode::row);
  EXPECT_EQ(all.socket, "/s");
}

TEST(UrlOptions, OutOfTheirRangeAreRefusedByNameWithTheRange) {
  struct {
    char const* query;
    char const* why;
  } const cases[] = {
      {"?timeout=49ms", "option 'timeout' must be from 50ms to 10m"},
      {"?timeout=601s", "option 'timeout' must be from 50ms to 10m"},
      {"?timeout=soon", "option 'timeout' must be from 50ms to 10m"},
      {"?pool=0", "option 'pool' must be a number from 1 to 256"},
      {"?pool=257", "option 'pool' must be a number from 1 to 256"},
      {"?pool=-1", "option 'pool' must be a number from 1 to 256"},
      {"?pool=", "option 'pool' must be a number from 1 to 256"},
      {"?sessions=1", "option 'sessions' must be a number from 2"},
      {"?sessions=99999999999999999999", "option 'sessions' must be a number from 2"},
      {"?mode=other", "option 'mode' must be table or row"},
      {"?acl=", "option 'acl' must be open or creator"},
      {"?verify=half", "option 'verify' must be full or none"},
      {"?cert=/c", "cert and key go together: give both or none"}};
  for (auto const& [query, why] : cases) {
    auto const all = take(query);
    EXPECT_TRUE(all.why == errc::invalid_url) << query;
    EXPECT_NE(all.why.message.find(why), std::string::npos) << all.why.message;
    EXPECT_NE(all.why.message.find("mysql://me:***@host/db"), std::string::npos) << all.why.message;
  }
}

TEST(UrlOptions, OfTwoThatAreWrongTheFirstIsTold) {
  EXPECT_NE(take("?mode=other&timeout=1ms").why.message.find("'timeout'"), std::string::npos);
}

TEST(UrlOptions, ThatAreUnknownNameTheNearOneThoughItWasNotTaken) {
  auto const why = take("?cafil=/x").why;
  EXPECT_TRUE(why == errc::invalid_url);
  EXPECT_NE(why.message.find("cafile"), std::string::npos) << why.message;
}

// All that are built. A default that is a value is one that the option could be given.
TEST(UrlOptions, OfEachSchemeAreDeclaredOnceAndTheirDefaultsCanBeGiven) {
  auto const all = stores::all_options();
  EXPECT_GE(all.size(), 2u);
  for (auto const& scheme : all) {
    std::set<std::string_view> names;
    for (auto const& one : scheme.all()) {
      EXPECT_TRUE(names.insert(one.name).second) << scheme.scheme << " " << one.name;
      EXPECT_FALSE(one.effect.empty()) << one.name;
      bool const words = one.fallback.find(' ') != std::string_view::npos;
      if (words || one.kind == option_kind::text) continue;
      auto url = store_url::parse("redis://host").value();
      url.options.emplace(one.name, one.fallback);
      stores::option_reader in(url, scheme);
      if (one.kind == option_kind::duration) in.duration(one.name);
      if (one.kind == option_kind::count) in.count(one.name);
      if (one.kind == option_kind::choice) in.chosen(one.name);
      EXPECT_FALSE(in.end().code) << in.end().message;
    }
  }
}

}  // namespace
}  // namespace herdlock_test
