// Which component a store URL needs, and what the program that lacks it is told.
#include <gtest/gtest.h>

#include <herdlock/backend.hpp>
#include <herdlock/examination.hpp>
#include <herdlock/open.hpp>
#include <herdlock/store_opener.hpp>
#include <herdlock/survey.hpp>
#include <herdlock/url.hpp>
#include <herdlock/url_scheme.hpp>
#include <memory>
#include <string>
#include <string_view>

namespace herdlock {
namespace {

std::string refusal(store_opener const& stores, std::string_view url, errc code) {
  auto const opened = stores.try_open(url);
  if (!opened.has_error()) return "it opened";
  EXPECT_EQ(opened.error().code, make_error_code(code));
  return opened.error().message;
}

TEST(StoreOpener, OpensAndExaminesWhatItsComponentsKnow) {
  store_opener const stores{memory_schemes()};
  EXPECT_EQ(stores.open("memory:").display_name(), open_store("memory:").display_name());
  EXPECT_TRUE(stores.examine("memory:").has_value());
}

TEST(StoreOpener, AUrlOfAMissingComponentNamesItAndTheWayOut) {
  store_opener const stores{memory_schemes()};
  struct {
    std::string_view url, component, function;
  } const cases[] = {
      {"sqlite:a.db", "herdlock::sqlite,", "sqlite_schemes()"},
      {"redis://user:secret@h", "herdlock::redis,", "redis_schemes()"},
      {"rediss+cluster://h", "herdlock::redis,", "redis_schemes()"},
      {"redlock://a,b,c", "herdlock::redis,", "redis_schemes()"},
      {"mariadb://h/db", "herdlock::mysql,", "mysql_schemes()"},
      {"postgresql://h/db", "herdlock::postgres,", "postgres_schemes()"},
      {"zk://h", "herdlock::zookeeper,", "zookeeper_schemes()"},
      {"etcds://h", "herdlock::etcd,", "etcd_schemes()"},
  };
  for (auto const& each : cases) {
    auto const why = refusal(stores, each.url, errc::not_built);
    EXPECT_NE(why.find(each.component), why.npos) << why;
    EXPECT_NE(why.find(each.function), why.npos) << why;
    EXPECT_NE(why.find("(it has memory:)"), why.npos) << why;
    EXPECT_EQ(why.find("secret"), why.npos) << why;
    EXPECT_EQ(stores.examine(each.url).error().message, why);
  }
  EXPECT_NE(refusal({}, "memory:", errc::not_built).find("herdlock::core,"), std::string::npos);
}

TEST(StoreOpener, AnUnknownSchemeIsToldWhatThereIs) {
  auto const why = refusal({sqlite_schemes(), memory_schemes()}, "mongo://h", errc::unknown_scheme);
  EXPECT_NE(why.find("use one of sqlite:, memory:"), why.npos) << why;
}

TEST(StoreOpener, AStoreOfOnesOwnHasAScheme) {
  static constexpr url_scheme own[] = {
      {"mine",
       [](store_url url, asio::any_io_executor ex) {
         url.scheme = "memory";
         return memory_schemes().front().open(std::move(url), std::move(ex));
       },
       [](store_url) { return result<examination>(examination{}); }}};
  store_opener const stores{own};
  EXPECT_EQ(stores.open("mine:").display_name(), open_store("memory:").display_name());
}

TEST(StoreOpener, AStoreThatDoesNotKnowItsKeysSaysWhoDoes) {
  static constexpr url_scheme mine[] = {{"mine", nullptr, nullptr}};
  store_opener const stores{mine};
  auto const found = stores.survey("mine:", {});
  ASSERT_TRUE(found.has_error());
  EXPECT_EQ(found.error(), errc::not_supported);
  EXPECT_NE(found.error().message.find("redis+cluster:"), std::string::npos);
  EXPECT_NE(found.error().message.find("most_read"), std::string::npos);
  EXPECT_EQ(stores.survey("mine:", {.top = 1001}).error(), errc::invalid_value);
  EXPECT_EQ(stores.survey("sqlite:", {}).error(), errc::not_built);
}

}  // namespace
}  // namespace herdlock
