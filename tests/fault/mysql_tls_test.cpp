// MariaDB over TLS: who the server must be; and what a server may ask for that is not known.
#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <support/child_process.hpp>
#include <support/temp_dir.hpp>
#include <support/tls_files.hpp>
#include <thread>

#include "answers_at_stdin.hpp"
#include "mysql_ports.hpp"

namespace herdlock_test {
namespace {

struct mysql_tls : testing::Test {
  static std::vector<std::string> options(std::filesystem::path const& certificate,
                                          std::filesystem::path const& key) {
    return {"--ssl-cert=" + certificate.string(), "--ssl-key=" + key.string(),
            "--ssl-ca=" + files().authority.string()};
  }
  static tls_files const& files() {
    static temp_dir folder;
    static tls_files const made = [] {
      auto all = make_tls_files(folder.path());
      give_tls_files_to(folder.path(), {"mysql", "nobody"});
      return all;
    }();
    return made;
  }
  static mariadb_server& secure() {
    static mariadb_server server(options(files().server_certificate, files().server_key));
    return server;
  }

  result<acquire_reply> acquire(std::string const& url) {
    client c(kind, url + (url.find('?') == url.npos ? "?" : "&") + "timeout=20s");
    return c.acquire(resource("stock:1"), owner_token::generate());
  }
  void expect_refused(std::string const& url) {
    auto const refused = acquire(url);
    ASSERT_FALSE(refused.has_value());
    EXPECT_TRUE(refused.error() == errc::unavailable) << refused.error().message;
    for (char const* part : {"stock:1", "mysql://", "certificate"}) {
      EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message;
    }
  }
  store_case const kind{.name = "mysql", .url = {}, .open = &open_mysql};
};

TEST_F(mysql_tls, AServerOfTheRightAuthorityIsUsedAndWhatTravelsIsEncrypted) {
  auto const url = secure().url("tls") + "?tls=on&cafile=" + files().authority.string();
  secure().sql("CREATE USER safe@'%' IDENTIFIED BY 'pw' REQUIRE SSL; GRANT ALL ON *.* TO safe@'%'");
  auto safe = url;
  safe.replace(safe.find("root@"), 5, "safe:pw@");
  EXPECT_TRUE(is<grant>(acquire(safe)));
  auto plain = safe.substr(0, safe.find('?'));
  EXPECT_TRUE(acquire(plain).error() == errc::access_denied);
}

TEST_F(mysql_tls, AServerOfAnotherAuthorityIsRefused) {
  expect_refused(secure().url("tls") + "?tls=on&cafile=" + files().other_authority.string());
}

TEST_F(mysql_tls, AnotherHostsCertificateIsRefusedUnlessNothingIsVerified) {
  mariadb_server wrong(options(files().wrong_name_certificate, files().wrong_name_key));
  auto const url = wrong.url("tls") + "?tls=on&cafile=" + files().authority.string();
  expect_refused(url);
  EXPECT_TRUE(is<grant>(acquire(wrong.url("tls") + "?tls=on&verify=none")));
}

// The client library reads them, for each connection.
TEST_F(mysql_tls, FilesThatCannotBeUsedAreNamedAndReadAgain) {
  auto const url = secure().url("files") + "?tls=on&cafile=" + files().authority.string();
  auto const with = [&](std::filesystem::path const& cert, std::filesystem::path const& key) {
    return url + "&cert=" + cert.string() + "&key=" + key.string();
  };
  EXPECT_TRUE(is<grant>(acquire(with(files().client_certificate, files().client_key))));
  for (auto const& bad : {with(files().client_certificate, files().server_key),
                          with("/nowhere.pem", files().client_key),
                          with(files().client_certificate, "/nowhere.key")}) {
    auto const refused = acquire(bad);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error(), errc::unavailable) << refused.error().message;
    for (char const* part : {"(cafile '", ", cert '", ", key '", "for the next connection"}) {
      EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message;
    }
  }
}

TEST_F(mysql_tls, AnEncryptedKeyIsRefusedAndNobodyIsAskedForItsPassPhrase) {
  temp_dir const folder;
  auto const key = (folder.path() / "encrypted.key").string();
  run_command(
      {.argv = {find_program("openssl", "openssl"), "ec", "-in", files().client_key.string(),
                "-aes256", "-passout", "pass:secret", "-out", key}});
  answers_at_stdin const asked("secret\nsecret\n");
  auto const refused =
      acquire(secure().url("encrypted") + "?tls=on&cafile=" + files().authority.string() +
              "&cert=" + files().client_certificate.string() + "&key=" + key);
  ASSERT_TRUE(refused.has_error()) << "somebody was asked";
  EXPECT_NE(refused.error().message.find(key), std::string::npos) << refused.error().message;
}

TEST_F(mysql_tls, AServerWithoutTlsIsRefused) {
  expect_refused(mysql_url("table", "&tls=on&cafile=" + files().authority.string()));
}

/// Somebody at a port who answers like a server and wants the password in clear.
class password_thief {
 public:
  password_thief() : port_(listener_.local_endpoint().port()), thread_([this] { serve(); }) {}
  ~password_thief() { thread_.join(); }
  password_thief(password_thief const&) = delete;
  password_thief& operator=(password_thief const&) = delete;

  std::uint16_t port() const { return port_; }
  /// All that one client said, once it has gone.
  std::string const& heard() {
    if (thread_.joinable()) thread_.join();
    thread_ = std::thread([] {});
    return heard_;
  }

 private:
  using tcp = asio::ip::tcp;

  void serve() {
    tcp::socket client = listener_.accept();
    using namespace std::string_literals;
    // Protocol 10, version, thread, 8 bytes of a challenge, capabilities, character set, status,
    // more capabilities, length of the challenge, reserved, the rest of it, method.
    say(client, 0,
        "\x0a"s + "10.11.0-MariaDB\0"s + "\1\0\0\0"s + "12345678\0"s + "\xff\xf7"s + "\x2d"s +
            "\2\0"s + "\xff\x81"s + "\x15"s + std::string(10, '\0') + "123456789012\0"s +
            "mysql_native_password\0"s);
    listen(client);
    say(client, 2, "\xfe" + "mysql_clear_password\0"s);
    listen(client);
  }
  static void say(tcp::socket& client, char number, std::string const& what) {
    std::string const head{static_cast<char>(what.size()), 0, 0, number};
    asio::write(client, asio::buffer(head + what));
  }
  // One packet, or the end.
  void listen(tcp::socket& client) {
    boost::system::error_code ec;
    std::array<unsigned char, 4> head{};
    asio::read(client, asio::buffer(head), ec);
    std::string text(ec ? 0 : head[0] + 256U * head[1], '\0');
    text.resize(asio::read(client, asio::buffer(text), ec));
    heard_ += text;
  }

  asio::io_context io_;
  tcp::acceptor listener_{io_, {asio::ip::address_v4::loopback(), 0}};
  std::uint16_t port_;
  std::string heard_;
  std::thread thread_;
};

TEST_F(mysql_tls, AServerThatIsNotKnownDoesNotGetThePasswordInClear) {
  password_thief thief;
  auto const url = "mysql://app:TopSecret@127.0.0.1:" + std::to_string(thief.port()) + "/shop";
  auto const refused = acquire(url);
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error() == errc::access_denied) << refused.error().message;
  EXPECT_NE(refused.error().message.find("tls=on"), std::string::npos) << refused.error().message;
  EXPECT_NE(thief.heard().find("app"), std::string::npos);
  EXPECT_EQ(thief.heard().find("TopSecret"), std::string::npos);
}

}  // namespace
}  // namespace herdlock_test
