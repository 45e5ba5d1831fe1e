#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <algorithm>
#include <herdlock/url.hpp>
#include <map>

namespace herdlock {
namespace {

using namespace std::chrono_literals;

store_url parsed(std::string_view text) {
  auto url = store_url::parse(text);
  EXPECT_TRUE(url.has_value()) << text << ": " << (url ? "" : url.error().message);
  return url ? *url : store_url{};
}

std::string refusal(std::string_view text) {
  auto url = store_url::parse(text);
  EXPECT_FALSE(url.has_value()) << text;
  if (url) return "";
  EXPECT_EQ(url.error().code, make_error_code(errc::invalid_url)) << text;
  return url.error().message;
}

TEST(StoreUrl, ReadsMemoryWithAndWithoutAName) {
  EXPECT_EQ(parsed("memory:").scheme, "memory");
  EXPECT_EQ(parsed("memory:").path, "");
  EXPECT_EQ(parsed("memory:stock").path, "stock");
}

TEST(StoreUrl, ReadsSqlitePathsInEveryForm) {
  EXPECT_EQ(parsed("sqlite:locks.db").path, "locks.db");
  EXPECT_EQ(parsed("sqlite:/var/lib/locks.db").path, "/var/lib/locks.db");
  EXPECT_EQ(parsed("sqlite:///var/lib/locks.db").path, "/var/lib/locks.db");
  EXPECT_EQ(parsed("sqlite:/a%20b/c d@e.db").path, "/a b/c d@e.db");
  EXPECT_EQ(parsed("sqlite:a.db?timeout=1s").options.at("timeout"), "1s");
}

TEST(StoreUrl, ReadsEveryPartOfARedisUrl) {
  store_url url = parsed("redis://us%65r:p%40ss%3A%2F@cache.example:6380/3?timeout=2s&name=a%26b");
  EXPECT_EQ(url.scheme, "redis");
  EXPECT_EQ(url.user, "user");
  EXPECT_EQ(url.password, "p@ss:/");
  EXPECT_EQ(url.host, "cache.example");
  EXPECT_EQ(url.port, 6380);
  EXPECT_EQ(url.path, "/3");
  EXPECT_EQ(url.options.at("name"), "a&b");
  EXPECT_EQ(url.take_duration("timeout", 1s).value(), 2s);
}

TEST(StoreUrl, ReadsAPasswordWithoutAUserAndOneWithColonsAndAts) {
  EXPECT_EQ(parsed("redis://:secret@h").password, "secret");
  EXPECT_EQ(parsed("redis://:secret@h").user, "");
  EXPECT_EQ(parsed("redis://u:a:b@c@h").password, "a:b@c");
  EXPECT_EQ(parsed("redis://u:@h").password, "");
}

TEST(StoreUrl, ReadsManyHostsWhereTheSchemeTakesThem) {
  store_url url = parsed("redlock://u:secret@a:1,[::1]:2,c?timeout=1s");
  std::vector<host_and_port> const expected{{"a", 1}, {"::1", 2}, {"c", std::nullopt}};
  EXPECT_EQ(url.hosts, expected);
  EXPECT_EQ(url.host, "a");
  EXPECT_EQ(url.port, 1);
  EXPECT_EQ(url.redacted(), "redlock://u:***@a:1,[::1]:2,c?timeout=1s");
  EXPECT_TRUE(parsed("redlock://a:1").hosts.empty());
  EXPECT_NE(refusal("redis://a,b").find("one host"), std::string::npos);
  EXPECT_NE(refusal("redlock://a,,b").find("missing"), std::string::npos);
  EXPECT_NE(refusal("redlock://a,").find("missing"), std::string::npos);
  std::string many = "redlock://h";
  for (int i = 1; i < 64; ++i) many += ",h";
  EXPECT_EQ(parsed(many).hosts.size(), 64U);
  EXPECT_NE(refusal(many + ",h").find("too many"), std::string::npos);
}

TEST(StoreUrl, ReadsIpv6HostsAndShowsThemInBrackets) {
  store_url url = parsed("rediss://[::1]:6379/0");
  EXPECT_EQ(url.scheme, "rediss");
  EXPECT_EQ(url.host, "::1");
  EXPECT_EQ(url.port, 6379);
  EXPECT_EQ(url.redacted(), "rediss://[::1]:6379/0");
  EXPECT_EQ(parsed("redis://[fe80::1]").port, std::nullopt);
}

TEST(StoreUrl, ReadsUnixSocketsWithAndWithoutALogin) {
  store_url plain = parsed("redis+unix:/run/redis.sock?db=1");
  EXPECT_EQ(plain.path, "/run/redis.sock");
  EXPECT_EQ(plain.options.at("db"), "1");
  store_url login = parsed("redis+unix://user:pass@/run/redis.sock");
  EXPECT_EQ(login.user, "user");
  EXPECT_EQ(login.password, "pass");
  EXPECT_EQ(login.host, "");
  EXPECT_EQ(login.path, "/run/redis.sock");
  EXPECT_EQ(login.redacted(), "redis+unix://user:***@/run/redis.sock");
}

TEST(StoreUrl, ReadsMysqlAndLowersTheScheme) {
  store_url url = parsed("MySQL://shop:pw@127.0.0.1:3306/shop");
  EXPECT_EQ(url.scheme, "mysql");
  EXPECT_EQ(url.path, "/shop");
}

TEST(StoreUrl, RedactsThePasswordAndWhatMayBeOne) {
  EXPECT_EQ(parsed("redis://u:pw@h:1/0?timeout=2s").redacted(), "redis://u:***@h:1/0?timeout=2s");
  EXPECT_EQ(parsed("redis://:pw@h").redacted(), "redis://:***@h");
  EXPECT_EQ(parsed("redis://h?password=pw").redacted(), "redis://h?password=***");
  EXPECT_EQ(parsed("redis://h/1?pasword=pw").redacted(), "redis://h/1?pasword=***");
  EXPECT_EQ(parsed("redis://h?pasword=1234").redacted(), "redis://h?pasword=***");
  EXPECT_EQ(parsed("redis://h?timeout=pw").redacted(), "redis://h?timeout=***");
  EXPECT_EQ(parsed("redis+unix:/s?db=3&user=pw").redacted(), "redis+unix:/s?db=3&user=***");
  EXPECT_EQ(parsed("rediss://h?verify=none").redacted(), "rediss://h?verify=none");
  EXPECT_EQ(parsed("sqlite:/a b/c.db").redacted(), "sqlite:/a b/c.db");
}

// A password without its ':' is read as a user.
TEST(StoreUrl, RedactsAUserWithoutAPassword) {
  EXPECT_EQ(parsed("redis://s3cret@h:1/0").redacted(), "redis://***@h:1/0");
  EXPECT_EQ(parsed("redis://s3cret:@h").redacted(), "redis://***@h");
  EXPECT_EQ(parsed("redis+unix://s3cret@/run/x.sock").redacted(), "redis+unix://***@/run/x.sock");
}

TEST(StoreUrl, RefusesWhatIsMalformedInOneLine) {
  for (std::string_view text : {"",
                                ":",
                                "nothing",
                                "://",
                                "1 2:x",
                                "redis://h:",
                                "redis://h:0",
                                "redis://h:65536",
                                "redis://h:6379x",
                                "redis://:6379",
                                "redis://[::1",
                                "redis://[::1]x",
                                "redis://[host]:1",
                                "redis://ho st",
                                "redis://h?",
                                "redis://h/%",
                                "redis://h/%2",
                                "redis://h/%zz",
                                "redis://h/%00",
                                "redis://h?x",
                                "redis://h?=x",
                                "redis://h?a=1&a=2",
                                "redis://h#f",
                                "redis:user:pw@h",
                                "sqlite:a\nb",
                                "redis://h?a=%"}) {
    if (text == "redis://h?") continue;  // an empty list of options is none
    std::string why = refusal(text);
    EXPECT_NE(why.find("invalid store URL"), std::string::npos) << text;
    EXPECT_EQ(why.find('\n'), std::string::npos) << text;
  }
  EXPECT_NE(refusal("redis:" + std::string(5000, 'a')).size(), 0u);
  EXPECT_LT(refusal("redis:" + std::string(5000, 'a')).size(), 500u);
}

TEST(StoreUrl, NamesTheWayOutForAPasswordThatNeedsEncoding) {
  EXPECT_NE(refusal("redis://u:a/b@h:1").find("%2F"), std::string::npos);
  EXPECT_NE(refusal("redis://u:a#b@h:1").find("%23"), std::string::npos);
  EXPECT_NE(refusal("redis:u:a@h:1").find("//"), std::string::npos);
}

TEST(StoreUrl, ReportsOptionsThatNobodyTook) {
  store_url url = parsed("redis://h?timeout=2s&colour=red");
  EXPECT_TRUE(url.take_duration("timeout", 1s).has_value());
  failure why = url.reject_unknown_options();
  EXPECT_TRUE(why == errc::invalid_url);
  EXPECT_NE(why.message.find("'colour'"), std::string::npos);
  EXPECT_EQ(url.take_text("colour", ""), "red");
  EXPECT_FALSE(url.reject_unknown_options().code);
}

TEST(UrlOptions, AMistypedOptionNamesTheOneThatWasMeant) {
  for (auto const& [typed, meant] : std::map<std::string, std::string>{
           {"tiemout", "timeout"}, {"prefx", "prefix"}, {"timeouts", "timeout"}}) {
    store_url url = parsed("redis://h?" + typed + "=2s");
    url.take_duration("timeout", 1s).value();
    url.take_text("prefix", "");
    url.take_text("db", "");
    std::string const told = url.reject_unknown_options().message;
    EXPECT_NE(told.find("did you mean '" + meant + "'?"), told.npos) << told;
  }
  for (std::string const& text : {std::string("colour"), std::string(200, 't')}) {
    store_url url = parsed("redis://h?" + text + "=red");
    url.take_text("cafile", "");
    EXPECT_NE(url.reject_unknown_options().message.find("remove it"), std::string::npos) << text;
  }
}

TEST(StoreUrl, ReportsAnUnknownOptionByItsNameOnly) {
  failure why = parsed("redis://h?pasword=s3cret").reject_unknown_options();
  EXPECT_NE(why.message.find("'pasword'"), std::string::npos) << why.message;
  EXPECT_EQ(why.message.find("s3cret"), std::string::npos) << why.message;
}

TEST(StoreUrl, ReportsADurationOptionThatIsNone) {
  auto bad = parsed("redis://u:pw@h?timeout=soon").take_duration("timeout", 1s);
  ASSERT_FALSE(bad.has_value());
  EXPECT_TRUE(bad.error() == errc::invalid_url);
  EXPECT_NE(bad.error().message.find("timeout"), std::string::npos);
  EXPECT_EQ(bad.error().message.find("pw"), std::string::npos);
}

TEST(Duration, ReadsEachUnitAndPlainMilliseconds) {
  EXPECT_EQ(parse_duration("250ms").value(), 250ms);
  EXPECT_EQ(parse_duration("2s").value(), 2s);
  EXPECT_EQ(parse_duration("5m").value(), 5min);
  EXPECT_EQ(parse_duration("1h").value(), 1h);
  EXPECT_EQ(parse_duration("365d").value(), limits::max_ttl);
  EXPECT_EQ(parse_duration("15").value(), 15ms);
  EXPECT_EQ(parse_duration("0").value(), 0ms);
}

TEST(Duration, IsSaidInAUnitThatLosesNothing) {
  EXPECT_EQ(duration_text(0ms), "0ms");
  EXPECT_EQ(duration_text(1500ms), "1500ms");
  EXPECT_EQ(duration_text(90s), "90s");
  EXPECT_EQ(duration_text(2h), "2h");
  EXPECT_EQ(duration_text(limits::max_ttl), "365d");
  EXPECT_NE(check_ttl(limits::max_ttl * 10).message.find("a ttl of 3650d"), std::string::npos);
}

TEST(Duration, RefusesEverythingElse) {
  for (std::string_view text : {"", "s", "-1s", "1.5s", "1 s", "1w", "1S", "+1s", "0x1s",
                                "9223372036854775807h", "99999999999999999999"}) {
    auto duration = parse_duration(text);
    ASSERT_FALSE(duration.has_value()) << text;
    EXPECT_TRUE(duration.error() == errc::invalid_value) << text;
  }
}

bool mentions(std::string const& message, std::string_view secret) {
  return message.find(secret) != std::string::npos;
}

// A password that people paste without encoding it moves the borders of every part. Wherever the
// parser then sees it, it is not shown.
RC_GTEST_PROP(StoreUrl, NeverShowsAPasswordHoweverItIsWritten, ()) {
  auto any = rc::gen::container<std::string>(rc::gen::elementOf(std::string("@:/?#%&=[].a1 \t")));
  std::string password = *any + "SECRET" + *any;
  std::string scheme = *rc::gen::element<std::string>("redis", "rediss", "redis+unix", "mysql");
  std::string slashes = *rc::gen::element<std::string>("//", "");
  std::string behind = *rc::gen::element<std::string>("host:6379/0", "host", "[::1]:1/0", "/sock",
                                                      "host:port", "ho st", "h?timeout=x", "h?x");
  auto url = store_url::parse(scheme + ":" + slashes + "user:" + password + "@" + behind);
  if (!url) {
    RC_ASSERT(url.error() == errc::invalid_url);
    RC_ASSERT(!mentions(url.error().message, "SECRET"));
    RC_ASSERT(!mentions(url.error().message, "\n"));
    return;
  }
  RC_ASSERT(!mentions(url->redacted(), "SECRET"));
  RC_ASSERT(!mentions(url->reject_unknown_options().message, "SECRET"));
  auto duration = url->take_duration("timeout", 1s);
  if (!duration) RC_ASSERT(!mentions(duration.error().message, "SECRET"));
}

RC_GTEST_PROP(StoreUrl, AnyTextIsParsedOrRefusedInOneLine, (std::string const& text)) {
  for (std::string const& input : {text, "redis:" + text, "redis://" + text, "sqlite:" + text}) {
    auto url = store_url::parse(input);
    if (url) {
      RC_ASSERT(url->redacted().find('\n') == std::string::npos);
    } else {
      RC_ASSERT(url.error() == errc::invalid_url);
      RC_ASSERT(url.error().message.find('\n') == std::string::npos);
    }
  }
}

std::string percent_encoded(std::string const& text) {
  std::string out;
  for (char c : text) {
    constexpr char digits[] = "0123456789abcdef";
    auto byte = static_cast<unsigned char>(c);
    out += {'%', digits[byte >> 4], digits[byte & 15]};
  }
  return out;
}

RC_GTEST_PROP(StoreUrl, AnEncodedLoginComesBackAsItWas, (std::string user, std::string password)) {
  std::erase(user, '\0');
  std::erase(password, '\0');
  auto url = store_url::parse("redis://" + percent_encoded(user) + ":" + percent_encoded(password) +
                              "@host:6379/0");
  RC_ASSERT(url.has_value());
  RC_ASSERT(url->user == user);
  RC_ASSERT(url->password == password);
}

}  // namespace
}  // namespace herdlock
