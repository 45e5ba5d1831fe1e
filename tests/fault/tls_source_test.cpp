// The files of a URL, looked at for each connection: what can be used, and what stays in use.
#include "stores/common/tls_source.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "rotated_files.hpp"
#include "support/child_process.hpp"

namespace herdlock_test {
namespace {

using namespace herdlock;
using namespace std::chrono_literals;
using stores::encryption;
using stores::tls_settings;
using stores::tls_source;

class TlsSource : public testing::Test {
 protected:
  static tls_files const& files() {
    static temp_dir folder;
    static tls_files const made = make_tls_files(folder.path());
    return made;
  }
  static std::string certificate() { return content_of(files().client_certificate); }
  static std::string key() { return content_of(files().client_key); }
  static std::string other_certificate() { return content_of(files().server_certificate); }
  static std::string other_key() { return content_of(files().server_key); }

  TlsSource() {
    put_file(use_.authority, content_of(files().authority));
    put_file(use_.certificate, certificate());
    put_file(use_.key, key());
  }

  tls_settings settings() const {
    return {encryption::tls, use_.authority.string(), use_.certificate.string(), use_.key.string()};
  }
  result<std::shared_ptr<tls_source>> open() const {
    return tls_source::open(settings(), "rediss://h");
  }
  void openssl(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), find_program("openssl", "openssl"));
    run_command({.argv = std::move(arguments), .folder = folder_.path()});
  }
  // What a connection shows.
  static X509* shown(stores::tls_choice const& one) {
    return SSL_CTX_get0_certificate(one.context->native_handle());
  }
  static bool same(stores::tls_choice const& one, stores::tls_choice const& two) {
    return X509_cmp(shown(one), shown(two)) == 0;
  }

  temp_dir folder_;
  client_files use_{folder_ / "use.ca", folder_ / "use.pem", folder_ / "use.key"};
};

TEST_F(TlsSource, WhatIsThereAtFirstMustBeUsable) {
  put_file(use_.certificate, other_certificate());
  auto const mixed = open();
  ASSERT_FALSE(mixed);
  EXPECT_EQ(mixed.error(), errc::invalid_url);
  EXPECT_EQ(mixed.error().message, "store URL rediss://h: key '" + use_.key.string() +
                                       "' does not fit cert '" + use_.certificate.string() +
                                       "': give the two files of one pair");
  std::filesystem::remove(use_.certificate);
  auto const missing = open();
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("cert '" + use_.certificate.string() + "' cannot be read"),
            std::string::npos)
      << missing.error().message;
}

// B37.
TEST_F(TlsSource, TheLastFilesStayInUseWhileThoseThatAreThereCannotBeUsed) {
  auto const source = open().value();
  auto const first = source->choose();
  EXPECT_EQ(first.file_error, "");
  struct step {
    std::filesystem::path file;
    std::string content;
    std::string what;
  };
  std::string const cert = "cert '" + use_.certificate.string() + "'";
  std::string const named = "key '" + use_.key.string() + "'";
  std::string const authority = content_of(use_.authority);
  for (step const& each :
       {step{use_.certificate, other_certificate(), named + " does not fit " + cert},
        step{use_.certificate, "", cert + " cannot be read"},
        step{use_.certificate, certificate().substr(0, 200), cert + " cannot be read"},
        step{use_.key, "", named + " cannot be read"},
        step{use_.key, key().substr(0, 60), named + " cannot be read"},
        step{use_.key, other_key(), named + " does not fit " + cert},
        step{use_.authority, "", "cafile '" + use_.authority.string() + "' cannot be read"},
        step{use_.authority, authority.substr(0, 200),
             "cafile '" + use_.authority.string() + "' cannot be read"}}) {
    std::string const before = content_of(each.file);
    put_file(each.file, each.content);
    auto const now = source->choose();
    EXPECT_TRUE(now.file_error.starts_with(each.what)) << now.file_error;
    EXPECT_NE(now.file_error.find("the last files that could be used stay in use"),
              std::string::npos);
    ASSERT_TRUE(now.context);
    EXPECT_TRUE(same(first, now));
    put_file(each.file, before);
    EXPECT_EQ(source->choose().file_error, "") << each.what;
  }
}

TEST_F(TlsSource, FilesThatAreMissingOrMayNotBeReadPass) {
  auto const source = open().value();
  for (auto const& file : {use_.authority, use_.certificate, use_.key}) {
    auto const away = std::filesystem::path(file).concat(".away");
    std::filesystem::rename(file, away);
    EXPECT_NE(source->choose().file_error.find(file.string()), std::string::npos);
    std::filesystem::create_directory(file);  // also root cannot read it
    EXPECT_NE(source->choose().file_error.find(file.string()), std::string::npos);
    std::filesystem::remove(file);
    std::filesystem::rename(away, file);
    EXPECT_EQ(source->choose().file_error, "");
  }
}

TEST_F(TlsSource, FilesThatFitAreUsedAtTheNextConnection) {
  auto const source = open().value();
  auto const first = source->choose();
  put_file(use_.certificate, other_certificate());
  EXPECT_TRUE(same(first, source->choose()));
  put_file(use_.key, other_key());
  auto const second = source->choose();
  EXPECT_EQ(second.file_error, "");
  EXPECT_FALSE(same(first, second));
  put_file(use_.key, "");
  EXPECT_TRUE(same(second, source->choose())) << "the last that worked, not the first";
}

// OpenSSL keeps a certificate and a key for each kind of key.
TEST_F(TlsSource, AKeyOfAnotherKindDoesNotFit) {
  auto const source = open().value();
  openssl({"req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=rsa",
           "-keyout", "rsa.key", "-out", "rsa.pem"});
  put_file(use_.certificate, content_of(folder_ / "rsa.pem"));
  EXPECT_NE(source->choose().file_error.find("does not fit"), std::string::npos);
  put_file(use_.key, content_of(folder_ / "rsa.key"));
  EXPECT_EQ(source->choose().file_error, "");
}

// It is not asked for at the terminal, where the store's thread would wait.
TEST_F(TlsSource, AnEncryptedKeyIsRefused) {
  openssl({"ec", "-in", files().client_key.string(), "-aes256", "-passout", "pass:secret", "-out",
           use_.key.string()});
  auto const encrypted = open();
  ASSERT_FALSE(encrypted);
  EXPECT_NE(encrypted.error().message.find("is encrypted: give one without a pass phrase"),
            std::string::npos)
      << encrypted.error().message;
}

TEST_F(TlsSource, EachTroubleIsToldOnce) {
  auto const source = open().value();
  auto const told = std::make_shared<store_warnings>();
  source->tell(told);
  source->choose();
  EXPECT_TRUE(told->list().empty());
  put_file(use_.certificate, other_certificate());
  for (int i = 0; i < 3; ++i) source->choose();
  ASSERT_EQ(told->list().size(), 1u);
  EXPECT_TRUE(told->list().front().starts_with("rediss://h: key '")) << told->list().front();
}

TEST_F(TlsSource, FilesThatHaveNotChangedForLongAreNotReadAgain) {
  auto const source = open().value();
  auto const now = clock::now();
  auto const first = source->choose(now);
  EXPECT_NE(first.context, source->choose(now + 1s).context) << "changed a moment ago";
  auto const settled = source->choose(now + 3s);
  EXPECT_EQ(settled.context, source->choose(now + 4s).context);
  put_file(use_.certificate, other_certificate());
  put_file(use_.key, other_key());
  auto const changed = source->choose(now + 5s);
  EXPECT_FALSE(same(settled, changed));
  EXPECT_NE(changed.context, source->choose(now + 6s).context) << "changed a moment ago";
}

// All servers of a store get the certificates of a new authority, and some are met only then.
TEST_F(TlsSource, OneServerThatHasWorkedSpeaksForAllOfThem) {
  auto const source = open().value();
  EXPECT_FALSE(source->has_worked_with("h:1"));
  source->worked_with("h:1");
  EXPECT_TRUE(source->has_worked_with("h:1"));
  EXPECT_TRUE(source->has_worked_with("h:2"));
}

}  // namespace
}  // namespace herdlock_test
