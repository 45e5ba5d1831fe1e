// Passwords, users, TLS, Unix sockets, databases: what works, and what is said when it does not.
#include "owners.hpp"
#include "redis_ports.hpp"
#include "stores/redis/client/server_errors.hpp"

namespace herdlock_test {
namespace {

void expect_works(std::string const& url) {
  redis_ports ports(url);
  auto const owner = owner_token::generate();
  EXPECT_GT(fence_of(ports.acquire("r", owner)), 0u);
  auto const released = ports.release("r", owner);
  EXPECT_TRUE(released.has_value());
}

std::string place(redis_server const& server) {
  return "127.0.0.1:" + std::to_string(server.port());
}

TEST(RedisSecurity, PasswordIsNeededAndNeverShown) {
  redis_options options;
  options.password = "opensesame";
  redis_server server(options);
  expect_works("redis://:opensesame@" + place(server));
  expect_refused("redis://:wrongsesame@" + place(server) + "?timeout=5m", errc::access_denied,
                 "WRONGPASS");
  expect_refused("redis://" + place(server) + "?timeout=5m", errc::access_denied, "NOAUTH");
}

// A server, or whatever stands in front of it, repeats what it does not understand.
TEST(RedisSecurity, TheAnswerToAGreetingIsNeverQuoted) {
  struct answered {
    std::string_view line;
    errc code;
    std::string_view told;
  };
  for (auto const& [line, code, told] :
       {answered{"ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 's3same'",
                 errc::not_supported, "does not know HELLO"},
        answered{"ERR Syntax error in HELLO option 's3same'", errc::protocol, "is not shown"},
        answered{"ERR Protocol error near 's3same'", errc::protocol, "is not shown"},
        answered{"WRONGPASS invalid password 's3same'", errc::access_denied, "WRONGPASS"},
        answered{"ERR max number of clients reached 's3same'", errc::unavailable, "maxclients"}}) {
    auto const why = redis::refused_greeting(line, "redis://127.0.0.1");
    EXPECT_EQ(why, code) << line;
    EXPECT_EQ(why.message.find("s3same"), std::string::npos) << why.message;
    EXPECT_NE(why.message.find(told), std::string::npos) << why.message;
  }
}

TEST(RedisSecurity, UserWithoutARightIsToldWhich) {
  redis_options options;
  options.users = {"alice on >opensesame ~* &* +@all", "bob on >opensesame ~other &* +@all"};
  redis_server server(options);
  expect_works("redis://alice:opensesame@" + place(server));
  expect_refused("redis://bob:opensesame@" + place(server), errc::access_denied, "NOPERM");
  expect_refused("redis://carol:opensesame@" + place(server), errc::access_denied, "WRONGPASS");
}

// Redis 7 gives a new user no channels; what is written must not be reported as failed.
TEST(RedisSecurity, UserWithoutChannelsReadsAndWritesAndIsToldWhenHeWatches) {
  redis_options options;
  options.users = {"alice on >opensesame ~* resetchannels +@all"};
  redis_server server(options);
  redis_ports ports("redis://alice:opensesame@" + place(server));
  auto const put = ports.put("k", std::string("v"));
  EXPECT_TRUE(put.has_value()) << put.error().message;
  EXPECT_EQ(server.cli("GET k"), "v");
  auto const claimed = ports.claim("c", mine);
  ASSERT_TRUE(claimed.has_value()) << claimed.error().message;
  auto const other = ports.claim("d", mine);
  auto const filled = ports.fill("c", mine, std::string("w"));
  ASSERT_TRUE(filled.has_value()) << filled.error().message;
  EXPECT_EQ(ports.look_up("c").value(), cache_value(std::string("w")));
  auto const failed = ports.get<fill_reply>(
      [&](auto h) { ports.values().fail(cache_key("d"), mine, "broken", 1s, std::move(h)); });
  EXPECT_TRUE(failed.has_value());
  auto const dropped =
      ports.get<bool>([&](auto h) { ports.values().invalidate(cache_key("k"), std::move(h)); });
  EXPECT_TRUE(dropped.has_value() && *dropped);
  auto const watched = ports.get<watch_reply>([&](auto h) {
    ports.values().watch({cache_key("x"), 60s}, std::move(h));
  });
  ASSERT_TRUE(watched.has_error());
  EXPECT_EQ(watched.error(), errc::access_denied) << watched.error().message;
  EXPECT_NE(watched.error().message.find("channels {key}"), std::string::npos)
      << watched.error().message;
}

TEST(RedisSecurity, PasswordWrittenAsUserOrMistypedOptionIsNotShown) {
  asio::io_context io;
  for (auto const* text : {"redis://s3same@localhost", "redis://localhost?pasword=s3same",
                           "redis+unix:/x.sock?user=s3same"}) {
    auto const opened = open_redis(store_url::parse(text).value(), io.get_executor());
    ASSERT_TRUE(opened.has_error()) << text;
    EXPECT_EQ(opened.error().message.find("s3same"), std::string::npos) << opened.error().message;
  }
}

TEST(RedisSecurity, PasswordThatIsCorrectedAtTheServerIsTriedAgain) {
  redis_options options;
  options.password = "first";
  redis_server server(options);
  redis_ports ports("redis://:second@" + place(server));
  EXPECT_EQ(ports.acquire("r", mine).error(), errc::access_denied);
  server.cli("CONFIG SET requirepass second");
  EXPECT_TRUE(ports.wait_for([&] { return ports.acquire("r", mine).has_value(); }));
}

TEST(RedisSecurity, DatabaseNumberIsSelected) {
  redis_server server;
  redis_ports ports(server.url() + "/3");
  fence_of(ports.acquire("r", mine));
  EXPECT_EQ(server.cli("EXISTS r"), "0");
  EXPECT_NE(server.cli("INFO keyspace").find("db3:keys=2"), std::string::npos);
  expect_refused(server.url() + "/4000?timeout=5m", errc::protocol, "DB index is out of range");
}

TEST(RedisSecurity, TlsChecksTheChain) {
  redis_options options;
  options.tls = redis_tls::on;
  redis_server server(options);
  auto const at = "rediss://127.0.0.1:" + std::to_string(server.tls_port());
  expect_works(server.tls_url());
  expect_works("rediss://localhost:" + std::to_string(server.tls_port()) +
               "?cafile=" + server.tls().authority.string());
  expect_works(at + "?verify=none");
  expect_refused(at + "?timeout=5m&cafile=" + server.tls().other_authority.string(),
                 errc::access_denied, "certificate");
  expect_refused(at + "?timeout=5m", errc::access_denied, "certificate");
  redis_ports plain("rediss://" + place(server) + "?timeout=500ms&verify=none");
  auto const reply = plain.acquire("r", mine);
  ASSERT_TRUE(reply.has_error());
  EXPECT_NE(reply.error().message.find("TLS on this port"), std::string::npos)
      << reply.error().message;
}

TEST(RedisSecurity, TlsChecksTheHostName) {
  redis_options options;
  options.tls = redis_tls::on_with_wrong_name;
  redis_server server(options);
  expect_refused(server.tls_url() + "&timeout=5m", errc::access_denied, "for another name than '");
  expect_works(server.tls_url() + "&verify=none");
}

TEST(RedisSecurity, TlsShowsItsOwnCertificate) {
  redis_options options;
  options.tls = redis_tls::on_with_client_certificates;
  redis_server server(options);
  expect_works(server.tls_url() + "&cert=" + server.tls().client_certificate.string() +
               "&key=" + server.tls().client_key.string());
  redis_ports without(server.tls_url() + "&timeout=500ms");
  EXPECT_TRUE(without.acquire("r", mine).has_error());
}

TEST(RedisSecurity, UnreadableCertificateFileIsRefusedAtOpening) {
  asio::io_context io;
  auto const url = store_url::parse("rediss://localhost?cafile=/nowhere/ca.pem").value();
  auto const opened = open_redis(url, io.get_executor());
  ASSERT_TRUE(opened.has_error());
  EXPECT_EQ(opened.error(), errc::invalid_url);
  EXPECT_NE(opened.error().message.find("/nowhere/ca.pem"), std::string::npos);
}

TEST(RedisSecurity, UnixSocketWorksAndItsAbsenceIsNamed) {
  redis_options options;
  options.unix_socket = redis_unix_socket::on;
  redis_server server(options);
  expect_works(server.unix_url());
  {
    redis_ports ports(server.unix_url() + "?db=2&timeout=20s");
    EXPECT_TRUE(ports.put("k", std::string(3'000'000, 'x')).has_value());
    EXPECT_EQ(ports.look_up("k").value(), cache_value(std::string(3'000'000, 'x')));
    EXPECT_NE(server.cli("INFO keyspace").find("db2:keys=1"), std::string::npos);
    server.cli("CLIENT KILL TYPE normal");
    EXPECT_TRUE(ports.wait_for([&] { return ports.look_up("k").has_value(); }));
  }
  expect_refused("redis+unix:/nowhere/redis.sock?timeout=300ms", errc::unavailable,
                 "/nowhere/redis.sock");
}

TEST(RedisSecurity, BadUrlsGetOneClearLine) {
  asio::io_context io;
  for (auto const* text :
       {"redis://", "redis://localhost/x", "redis://localhost/-1", "redis://localhost?nope=1",
        "redis://localhost?timeout=1ms", "redis://user@localhost", "redis+unix:relative.sock",
        "redis+unix://host/x.sock", "rediss://localhost?verify=maybe", "rediss://h?cert=/x"}) {
    auto const url = store_url::parse(text);
    if (url.has_error()) continue;
    auto const opened = open_redis(*url, io.get_executor());
    ASSERT_TRUE(opened.has_error()) << text;
    EXPECT_EQ(opened.error(), errc::invalid_url) << text;
    EXPECT_EQ(opened.error().message.find('\n'), std::string::npos);
  }
}

TEST(RedisSecurity, ReadOnlyReplicaFullAndLoadingServersAreNamed) {
  redis_server server;
  redis_ports ports(server.url());
  fence_of(ports.acquire("warm", mine));
  server.cli("CONFIG SET maxmemory 1");
  auto const full = ports.acquire("r", mine);
  EXPECT_EQ(full.error(), errc::unavailable);
  EXPECT_NE(full.error().message.find("memory"), std::string::npos) << full.error().message;
  EXPECT_EQ(server.cli("EXISTS r"), "0");
  server.cli("CONFIG SET maxmemory 0");
  server.cli("REPLICAOF 127.0.0.1 1");
  auto const replica = ports.acquire("r", mine);
  EXPECT_EQ(replica.error(), errc::unavailable);
  EXPECT_NE(replica.error().message.find("replica"), std::string::npos) << replica.error().message;
}

}  // namespace
}  // namespace herdlock_test
