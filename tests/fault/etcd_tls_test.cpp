// TLS: what works, and what is said when it does not.
#include "etcd_ports.hpp"

namespace herdlock_test {
namespace {

class EtcdTlsTest : public testing::Test {
 protected:
  static std::string at(etcd_server const& server, std::string const& options) {
    return "etcds://127.0.0.1:" + std::to_string(server.port()) + "?timeout=5s&" + options;
  }
  static std::string with(char const* option, std::filesystem::path const& file) {
    return std::string(option) + "=" + file.string() + "&";
  }

  // A lease, and a wait, whose stream is another connection.
  void works(std::string const& url) {
    etcd_client holder(url);
    etcd_client waiter(url);
    auto const reply = holder.acquire(stock, alice);
    ASSERT_TRUE(is<grant>(reply)) << (reply ? "busy" : reply.error().message);
    auto bobs = waiter.wait_for(stock, bob);
    ASSERT_TRUE(waiter.run_until([&] { return holder.waiting(stock) == 1; }));
    EXPECT_EQ(holder.release(stock, alice).value(), release_reply::released);
    EXPECT_TRUE(is<grant>(waiter.get(bobs)));
    EXPECT_EQ(waiter.release(stock, bob).value(), release_reply::released);
  }
  void refused(std::string const& url, std::string const& what) {
    etcd_client c(url);
    auto const reply = c.acquire(stock, alice);
    ASSERT_TRUE(reply.has_error()) << url;
    EXPECT_EQ(reply.error(), errc::access_denied) << reply.error().message;
    EXPECT_NE(reply.error().message.find(what), std::string::npos) << reply.error().message;
    EXPECT_NE(reply.error().message.find("cafile"), std::string::npos) << reply.error().message;
  }

  resource const stock{"stock/1"};
  owner_token const alice = owner_token::generate();
  owner_token const bob = owner_token::generate();
};

TEST_F(EtcdTlsTest, TheRightAuthorityIsAcceptedAndAnotherOneRefused) {
  etcd_server server({}, etcd_tls::on);
  works(at(server, with("cafile", server.tls().authority)));
  works(at(server, "verify=none"));
  refused(at(server, with("cafile", server.tls().other_authority)), "certificate verify failed");
}

TEST_F(EtcdTlsTest, ACertificateForAnotherNameIsRefused) {
  etcd_server server({}, etcd_tls::on_with_wrong_name);
  refused(at(server, with("cafile", server.tls().authority)),
          "it is for another name than '127.0.0.1'");
  works(at(server, "verify=none"));
}

TEST_F(EtcdTlsTest, AClientCertificateIsShownWhereItIsAskedFor) {
  etcd_server server({}, etcd_tls::on_with_client_certificates);
  auto const known = with("cafile", server.tls().authority);
  works(at(server, known + with("cert", server.tls().client_certificate) +
                       with("key", server.tls().client_key)));
  refused(at(server, known), "certificate");
}

TEST_F(EtcdTlsTest, AFileThatCannotBeReadIsNamedAtOnce) {
  asio::io_context io;
  auto const opened = open_etcd(
      store_url::parse("etcds://localhost?cafile=/nowhere/ca.pem").value(), io.get_executor());
  ASSERT_TRUE(opened.has_error());
  EXPECT_EQ(opened.error(), errc::invalid_url);
  EXPECT_NE(opened.error().message.find("/nowhere/ca.pem"), std::string::npos);
}

}  // namespace
}  // namespace herdlock_test
