// MariaDB over TLS: who the server must be.
#include <support/temp_dir.hpp>
#include <support/tls_files.hpp>

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
    client c(kind, url);
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

TEST_F(mysql_tls, AServerWithoutTlsIsRefused) {
  expect_refused(mysql_url("table", "&tls=on&cafile=" + files().authority.string()));
}

}  // namespace
}  // namespace herdlock_test
