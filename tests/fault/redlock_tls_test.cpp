// redlock://…?tls=on over five servers that ask for a password and for our certificate.
#include "redis_ports.hpp"
#include "stores/redis/redlock/redlock_store.hpp"
#include "support/redis_nodes.hpp"

namespace herdlock_test {
namespace {

/// Five of one authority, started once.
struct RedlockTls : testing::Test {
  RedlockTls() { nodes.reset(); }
  ~RedlockTls() override { nodes.reset(); }

  static temp_dir& folder() {
    static temp_dir one;
    return one;
  }
  static tls_files const& files() {
    static tls_files const made = make_tls_files(folder().path());
    return made;
  }
  static redis_nodes& secured() {
    static redis_nodes five(5, {.password = "opensesame",
                                .tls = redis_tls::on_with_client_certificates,
                                .certificates = files()});
    return five;
  }
  std::string place(std::size_t i) { return "127.0.0.1:" + std::to_string(nodes[i].public_port()); }
  std::string url(std::filesystem::path const& authority, std::string const& user = ":opensesame") {
    std::string text = "redlock://" + user + "@";
    for (std::size_t i = 0; i < nodes.size(); ++i) text += (i == 0 ? "" : ",") + place(i);
    return text + "?restart_delay=0&tls=on&cafile=" + authority.string() +
           "&cert=" + files().client_certificate.string() + "&key=" + files().client_key.string();
  }

  redis_nodes& nodes = secured();
  owner_token mine = owner_token::generate();
  owner_token other = owner_token::generate();
};

TEST_F(RedlockTls, LocksAndLosesTwoNodesAsWithoutIt) {
  // Long, so that all five are there at the first: a handshake takes its time.
  redis_ports ports(url(files().authority) + "&timeout=10s&node_timeout=5s", &open_redlock);
  auto const first = fence_of(ports.acquire("r", mine));
  EXPECT_GT(first, 0u);
  ASSERT_TRUE(ports.wait_for([&] { return nodes.count("GET r", mine.str()) == 5; }));
  EXPECT_TRUE(std::holds_alternative<busy>(ports.acquire("r", other).value()));
  nodes[1].kill();
  nodes[3].kill();
  EXPECT_EQ(ports.renew("r", mine, 60s).value(), renew_reply::renewed);
  EXPECT_EQ(ports.release("r", mine).value(), release_reply::released);
  EXPECT_GT(fence_of(ports.acquire("r", other)), first);
}

TEST_F(RedlockTls, AnotherAuthorityIsNamedAtOnceForEachNode) {
  auto const said =
      expect_refused(url(files().other_authority) + "&timeout=5m", errc::access_denied,
                     "give its authority with cafile", &open_redlock);
  EXPECT_NE(said.find("the certificate of " + place(0)), std::string::npos) << said;
  EXPECT_EQ(nodes.count("EXISTS r", "0"), 5u);
}

TEST_F(RedlockTls, AWrongPasswordIsSaidAtOnceAndNotShown) {
  expect_refused(url(files().authority, ":wrongsesame") + "&timeout=5m", errc::access_denied,
                 "WRONGPASS", &open_redlock);
}

TEST_F(RedlockTls, WithoutOurCertificateNoNodeIsReached) {
  auto const whole = url(files().authority);
  expect_refused(whole.substr(0, whole.find("&cert=")) + "&timeout=1s", errc::unavailable,
                 "127.0.0.1:", &open_redlock);
}

}  // namespace
}  // namespace herdlock_test
