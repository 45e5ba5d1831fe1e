// PostgreSQL over TLS: who the server must be.
#include <support/child_process.hpp>
#include <support/postgres_server.hpp>
#include <support/temp_dir.hpp>
#include <support/tls_files.hpp>

#include "answers_at_stdin.hpp"
#include "postgres_faults.hpp"

namespace herdlock_test {
namespace {

struct postgres_tls : testing::Test {
  static std::vector<std::string> settings(std::filesystem::path const& certificate,
                                           std::filesystem::path const& key) {
    return {"ssl=on", "ssl_cert_file=" + certificate.string(), "ssl_key_file=" + key.string()};
  }
  static tls_files const& files() {
    static temp_dir folder;
    static tls_files const made = [] {
      auto all = make_tls_files(folder.path());
      give_tls_files_to(folder.path(), {"postgres", "nobody"});
      return all;
    }();
    return made;
  }
  static postgres_server& secure() {
    static postgres_server server(settings(files().server_certificate, files().server_key));
    return server;
  }
  static std::string verified(std::filesystem::path const& authority) {
    return "&sslmode=verify-full&sslrootcert=" + authority.string();
  }
  void expect_refused(std::string const& url, char const* why) {
    client c(postgres, url);
    auto const refused = c.acquire(resource("stock:1"), owner_token::generate());
    ASSERT_FALSE(refused.has_value());
    EXPECT_TRUE(refused.error() == errc::unavailable) << refused.error().message;
    for (char const* part : {"stock:1", "postgres://", why, "sslmode"}) {
      EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message;
    }
  }
};

TEST_F(postgres_tls, AServerOfTheRightAuthorityIsUsedAndWhatTravelsIsEncrypted) {
  for (std::string const mode : {"table", "advisory", "row"}) {
    auto const url = secure().fresh_url();
    client c(postgres, url + verified(files().authority) + "&mode=" + mode);
    EXPECT_TRUE(is<grant>(c.acquire(resource("stock:1"), owner_token::generate()))) << mode;
    EXPECT_EQ(secure().sql(url,
                           "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING "
                           "(pid) WHERE application_name LIKE 'herdlock%'"),
              "t\n");
  }
}

TEST_F(postgres_tls, AServerOfAnotherAuthorityIsRefused) {
  expect_refused(secure().fresh_url() + verified(files().other_authority),
                 "certificate verify failed");
}

TEST_F(postgres_tls, AnotherHostsCertificateIsRefusedUnlessItsNameIsNotVerified) {
  postgres_server wrong(settings(files().wrong_name_certificate, files().wrong_name_key));
  expect_refused(wrong.fresh_url() + verified(files().authority), "certificate");
  client c(postgres,
           wrong.fresh_url() + "&sslmode=verify-ca&sslrootcert=" + files().authority.string());
  EXPECT_TRUE(is<grant>(c.acquire(resource("stock:1"), owner_token::generate())));
}

// libpq reads them, for each connection. One that is missing would be left out in silence: no
// certificate is shown then, and with sslmode=require any server is taken.
TEST_F(postgres_tls, FilesThatCannotBeUsedAreNamedAndReadAgain) {
  auto const& all = files();
  auto const with = [&](auto const& authority, auto const& cert, auto const& key) {
    return "&sslrootcert=" + std::filesystem::path(authority).string() +
           "&sslcert=" + std::filesystem::path(cert).string() +
           "&sslkey=" + std::filesystem::path(key).string();
  };
  struct wrong {
    std::string options;
    char const* named;
  };
  for (std::string const mode : {"verify-full", "require"}) {
    for (wrong const& each :
         {wrong{with(all.authority, all.client_certificate, all.server_key), "server.key"},
          wrong{with(all.authority, "/nowhere.pem", all.client_key), "/nowhere.pem"},
          wrong{with("/nowhere.ca", all.client_certificate, all.client_key), "/nowhere.ca"},
          wrong{with(all.authority, all.client_certificate, "/nowhere.key"), "/nowhere.key"}}) {
      client c(postgres, secure().fresh_url() + "&sslmode=" + mode + each.options);
      auto const refused = c.acquire(resource("stock:1"), owner_token::generate());
      ASSERT_FALSE(refused.has_value()) << mode << each.options;
      EXPECT_EQ(refused.error(), errc::unavailable) << refused.error().message;
      for (char const* part : {each.named, "read again for the next connection"}) {
        EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message;
      }
    }
  }
}

TEST_F(postgres_tls, AnEncryptedKeyIsRefusedAndNobodyIsAskedForItsPassPhrase) {
  temp_dir const folder;
  auto const key = (folder.path() / "encrypted.key").string();
  run_command(
      {.argv = {find_program("openssl", "openssl"), "ec", "-in", files().client_key.string(),
                "-aes256", "-passout", "pass:secret", "-out", key}});
  std::filesystem::permissions(key, std::filesystem::perms::owner_read);
  auto const url = secure().fresh_url() + verified(files().authority) +
                   "&sslcert=" + files().client_certificate.string() + "&sslkey=" + key;
  answers_at_stdin const asked("secret\nsecret\n");
  client without(postgres, url);
  auto const refused = without.acquire(resource("stock:1"), owner_token::generate());
  ASSERT_TRUE(refused.has_error()) << "somebody was asked";
  EXPECT_NE(refused.error().message.find(key), std::string::npos) << refused.error().message;
  client with(postgres, url + "&sslpassword=secret");
  auto const told = with.acquire(resource("stock:1"), owner_token::generate());
  EXPECT_TRUE(is<grant>(told)) << (told ? "busy" : told.error().message);
}

// libpq verifies nobody then, and goes on without TLS.
TEST_F(postgres_tls, AnAuthorityThatIsMissingIsNoReasonWhereNobodyIsVerified) {
  for (std::string const mode : {"prefer", "allow"}) {
    client c(postgres,
             postgres_server::shared().fresh_url() + "&sslrootcert=/nowhere.ca&sslmode=" + mode);
    auto const told = c.acquire(resource("stock:1"), owner_token::generate());
    EXPECT_TRUE(is<grant>(told)) << mode << ": " << told.error().message;
  }
}

TEST_F(postgres_tls, AServerWithoutTlsIsRefused) {
  expect_refused(postgres_server::shared().fresh_url() + verified(files().authority),
                 "does not support SSL");
}

}  // namespace
}  // namespace herdlock_test
