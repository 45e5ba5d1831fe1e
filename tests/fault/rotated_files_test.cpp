// Certificates and keys that are replaced while a handle waits and holds. Two files cannot be
// replaced in one step: in between the key does not fit its certificate.
#include "rotated_files.hpp"

#include <gtest/gtest.h>

#include <future>
#include <herdlock/herdlock.hpp>
#include <herdlock/metrics.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgres_server.hpp>
#include <support/redis_cluster.hpp>
#include <support/redis_nodes.hpp>
#include <support/redis_sentinels.hpp>

namespace herdlock_test {
namespace {

using namespace herdlock;
using namespace std::chrono_literals;

class single_redis final : public rotated_redis {
 public:
  single_redis() { files_.use_in(*this); }
  std::string url() override { return at("rediss", server_.tls_port()) + "?timeout=5s"; }
  void take_only_new() override {
    files_.forget_first();
    server_.cli("CONFIG SET tls-ca-cert-file " + files_.trusted.string());
  }
  void show_new() override {
    files_.show_second();
    server_.cli("CONFIG SET tls-cert-file " + files_.first.server_certificate.string());
  }

 private:
  std::vector<redis_server*> servers() override { return {&server_}; }

  two_authorities files_;
  redis_server server_{
      {.tls = redis_tls::on_with_client_certificates, .certificates = files_.server_side}};
};

class redlock_nodes_with_files final : public rotated_redis {
 public:
  redlock_nodes_with_files() { files_.use_in(*this); }
  std::string url() override {
    std::string text = "redlock://";
    for (auto* const one : servers()) {
      text += (text.back() == '/' ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(one->tls_port());
    }
    return text + "?restart_delay=0&node_timeout=2s&timeout=5s&tls=on";
  }
  void take_only_new() override {
    files_.forget_first();
    for (auto* const one : servers()) {
      one->cli("CONFIG SET tls-ca-cert-file " + files_.trusted.string());
    }
  }
  void show_new() override {
    files_.show_second();
    for (auto* const one : servers()) {
      one->cli("CONFIG SET tls-cert-file " + files_.first.server_certificate.string());
    }
  }

 private:
  std::vector<redis_server*> servers() override { return {&nodes_[0], &nodes_[1], &nodes_[2]}; }

  two_authorities files_;
  redis_nodes nodes_{
      3, {.tls = redis_tls::on_with_client_certificates, .certificates = files_.server_side}};
};

/// The servers trust each other by the same authority, so the new certificate is one of theirs.
void use_one_authority(rotated_servers& servers, tls_files const& files) {
  servers.first = {files.authority, files.client_certificate, files.client_key};
  servers.second = {files.authority, files.server_certificate, files.server_key};
}

class sentinel_group final : public rotated_redis {
 public:
  sentinel_group() { use_one_authority(*this, group_.tls()); }
  std::string url() override {
    return group_.url().substr(0, group_.url().find('?')) + "?timeout=5s";
  }

 private:
  std::vector<redis_server*> servers() override {
    return {&group_.master(), &group_.sentinel(0), &group_.sentinel(1), &group_.sentinel(2)};
  }
  // Whose turn it is among the sentinels changes.
  std::vector<redis_server*> waited_for() override { return {&group_.master()}; }

  redis_sentinels group_{{.tls = redis_tls::on_with_client_certificates, .down_after = never_down}};
};

class cluster_nodes final : public rotated_redis {
 public:
  cluster_nodes() { use_one_authority(*this, cluster_.node(0).tls()); }
  std::string url() override {
    return cluster_.tls_url().substr(0, cluster_.tls_url().find('?')) + "?timeout=5s";
  }

 private:
  std::vector<redis_server*> servers() override {
    return {&cluster_.node(0), &cluster_.node(1), &cluster_.node(2)};
  }

  redis_cluster cluster_{{.tls = redis_tls::on_with_client_certificates}};
};

class mysql_with_files final : public rotated_behind_relay {
 public:
  explicit mysql_with_files(std::string mode) : mode_(std::move(mode)) {
    files_.use_in(*this);
    server_.url("rotation");
    server_.sql("CREATE USER shown@'%' REQUIRE X509; GRANT ALL ON *.* TO shown@'%'");
  }
  std::string url() override { return through(wire_.port()); }
  std::string holder() override { return through(server_.port()); }
  void take_only_new() override {
    files_.forget_first();
    server_.sql("FLUSH SSL");
  }
  void show_new() override {
    files_.show_second();
    server_.sql("FLUSH SSL");
  }

 private:
  std::string through(std::uint16_t port) const {
    return "mysql://shown@127.0.0.1:" + std::to_string(port) + "/rotation?mode=" + mode_ +
           "&timeout=5s&tls=on";
  }
  std::vector<std::string> started_with() {
    files_.give_to({"mysql", "nobody"});
    return {"--ssl-cert=" + files_.first.server_certificate.string(),
            "--ssl-key=" + files_.first.server_key.string(), "--ssl-ca=" + files_.trusted.string()};
  }
  relay& wire() override { return wire_; }
  std::size_t tries() const override { return 3; }

  std::string mode_;
  two_authorities files_;
  mariadb_server server_{started_with()};
  relay wire_{server_.port()};
};

class postgres_with_files final : public rotated_behind_relay {
 public:
  postgres_with_files(std::string mode, std::string sslmode)
      : mode_(std::move(mode)), sslmode_(std::move(sslmode)) {
    files_.use_in(*this);
  }
  std::string url() override {
    return postgres_server::through(holder(), server_.port(), wire_.port());
  }
  std::string holder() override { return url_ + "&mode=" + mode_ + "&sslmode=" + sslmode_; }
  std::string options(client_files const& use) override {
    return "&sslrootcert=" + use.authority.string() + "&sslcert=" + use.certificate.string() +
           "&sslkey=" + use.key.string();
  }
  void take_only_new() override {
    files_.forget_first();
    server_.sql(url_, "SELECT pg_reload_conf()");
  }
  void show_new() override {
    files_.show_second();
    server_.sql(url_, "SELECT pg_reload_conf()");
  }

 private:
  std::vector<std::string> started_with() {
    auto const hba = files_.trusted.parent_path() / "hba.conf";
    std::ofstream(hba) << "hostssl all all 127.0.0.1/32 trust\nlocal all all trust\n";
    files_.give_to({"postgres", "nobody"});
    return {"ssl=on", "hba_file=" + hba.string(),
            "ssl_cert_file=" + files_.first.server_certificate.string(),
            "ssl_key_file=" + files_.first.server_key.string(),
            "ssl_ca_file=" + files_.trusted.string()};
  }
  relay& wire() override { return wire_; }
  std::size_t tries() const override { return 3; }

  std::string mode_, sslmode_;
  two_authorities files_;
  postgres_server server_{started_with()};
  relay wire_{server_.port()};
  std::string url_ = server_.fresh_url();
};

class RotatedFiles : public testing::TestWithParam<rotation_case> {
 protected:
  RotatedFiles() {
    put_file(use_.authority, content_of(servers_->first.authority));
    put_file(use_.certificate, content_of(servers_->first.certificate));
    put_file(use_.key, content_of(servers_->first.key));
  }

  store open_rotated() { return open_store(servers_->url() + servers_->options(use_)); }
  /// The first certificate, and a cafile that names both authorities.
  client_files with_both() const {
    auto use = servers_->first;
    use.authority = folder_ / "both.pem";
    put_file(use.authority,
             content_of(servers_->first.authority) + content_of(servers_->second.authority));
    return use;
  }
  static bool warns(store const& one, std::string const& part) {
    return std::ranges::any_of(one.warnings(),
                               [&](auto const& text) { return text.find(part) != text.npos; });
  }
  static bool renewed(lease& one) {
    try {
      return one.renew() == renew_reply::renewed;
    } catch (error const&) {
      return false;
    }
  }
  using wait = std::future<acquired>;
  static wait start_wait(store const& by, char const* name) {
    return lock(by, name).async_acquire({.wait = 60s}, boost::asio::use_future);
  }
  static bool is_done(wait const& one) { return one.wait_for(0s) == std::future_status::ready; }
  static std::string how_it_ended(wait& one) {
    try {
      return one.get() ? "granted" : "busy";
    } catch (std::exception const& e) {
      return e.what();
    }
  }

  std::unique_ptr<rotated_servers> servers_ = GetParam().make();
  temp_dir folder_;
  client_files use_{folder_ / "use.ca", folder_ / "use.pem", folder_ / "use.key"};
};

// B37. The waiter's connections are cut while its certificate is new and its key is not.
TEST_P(RotatedFiles, AWaitOverARotationInTwoStepsIsGranted) {
  store const rotated = open_rotated();
  store const other = open_store(servers_->holder() + servers_->options(servers_->first));
  acquired held = lock(other, "t").try_acquire();
  ASSERT_TRUE(held);
  acquired kept = lock(rotated, "kept").try_acquire({.ttl = 5min});
  ASSERT_TRUE(kept);
  auto waiter = start_wait(rotated, "t");
  ASSERT_TRUE(eventually([&] { return rotated.metrics().waiting == 1; }));

  put_file(use_.certificate, content_of(servers_->second.certificate));
  servers_->cut();
  ASSERT_TRUE(eventually([&] { return servers_->is_back() || is_done(waiter); }));
  ASSERT_FALSE(is_done(waiter)) << how_it_ended(waiter);
  if (GetParam().keeps_last) {
    EXPECT_TRUE(eventually([&] { return renewed(*kept); })) << "with the last files that worked";
    EXPECT_TRUE(warns(rotated, "use.key' does not fit cert"));
  }
  put_file(use_.key, content_of(servers_->second.key));
  ASSERT_TRUE(eventually([&] { return renewed(*held); })) << "its connections were cut, too";
  held->release();
  EXPECT_EQ(how_it_ended(waiter), "granted");
  if (GetParam().keeps_leases) {
    EXPECT_TRUE(eventually([&] { return renewed(*kept); }));
  }
}

// Without a restart: the next connections show the new certificate.
TEST_P(RotatedFiles, TheNextConnectionsUseTheNewFiles) {
  put_file(use_.authority, content_of(with_both().authority));
  store const rotated = open_rotated();
  ASSERT_TRUE(lock(rotated, "first").try_acquire());
  put_file(use_.certificate, content_of(servers_->second.certificate));
  put_file(use_.key, content_of(servers_->second.key));
  servers_->take_only_new();
  servers_->cut();
  auto const again = lock(rotated, "second").acquire({.wait = patience});
  EXPECT_TRUE(again);
}

class RotatedAuthority : public RotatedFiles {};

// B37, on the other side: the servers show a certificate of another authority before our cafile
// names it. What waits goes on, and so does a wait that begins in between.
TEST_P(RotatedAuthority, WaitsGoOnUntilTheNewOneIsNamed) {
  store const rotated = open_rotated();
  store const other = open_store(servers_->holder() + servers_->options(with_both()));
  acquired held = lock(other, "t").try_acquire({.ttl = 5min});
  ASSERT_TRUE(held);
  ASSERT_TRUE(lock(rotated, "before").try_acquire()) << "it has worked once";
  auto waiter = start_wait(rotated, "t");
  ASSERT_TRUE(eventually([&] { return rotated.metrics().waiting == 1; }));

  servers_->show_new();
  servers_->cut();
  auto const has_failed = [&] {
    return servers_->is_back() || warns(rotated, "certificate of 127.0.0.1:");
  };
  EXPECT_TRUE(eventually([&] { return has_failed() || is_done(waiter); }));
  auto late = start_wait(rotated, "late");
  servers_->cut();
  EXPECT_TRUE(eventually([&] { return has_failed() || is_done(late); }));
  ASSERT_FALSE(is_done(waiter)) << how_it_ended(waiter);
  ASSERT_FALSE(is_done(late)) << how_it_ended(late);
  put_file(use_.authority, content_of(with_both().authority));
  ASSERT_TRUE(eventually([&] { return renewed(*held); })) << "its connections were cut, too";
  held->release();
  EXPECT_EQ(how_it_ended(waiter), "granted");
  EXPECT_EQ(how_it_ended(late), "granted");
}

template <class Servers>
std::unique_ptr<rotated_servers> make() {
  return std::make_unique<Servers>();
}

rotation_case const single_redis_case{"redis", &make<single_redis>, true};
rotation_case const redlock_case{"redlock", &make<redlock_nodes_with_files>, true};
rotation_case const etcd_case_with_files{"etcd", &make<etcd_with_files>, true};
rotation_case const etcd_addresses_case{"etcd_at_three_addresses", &make<etcd_at_three_addresses>,
                                        true};
rotation_case const mysql_table_case{"mysql_table",
                                     [] { return std::make_unique<mysql_with_files>("table"); }};
rotation_case const postgres_table_case{
    "postgres_table", [] { return std::make_unique<postgres_with_files>("table", "verify-ca"); }};
rotation_case const mysql_named_case{
    "mysql_named", [] { return std::make_unique<mysql_with_files>("named"); }, false, false};
rotation_case const postgres_advisory_case{
    "postgres_advisory",
    [] { return std::make_unique<postgres_with_files>("advisory", "verify-ca"); }, false, false};

// The second try, without TLS, is refused for another reason.
rotation_case const postgres_prefer_case{
    "postgres_prefer", [] { return std::make_unique<postgres_with_files>("table", "prefer"); }};

std::string name_of(testing::TestParamInfo<rotation_case> const& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(stores, RotatedFiles,
                         testing::Values(single_redis_case, redlock_case,
                                         rotation_case{"sentinel", &make<sentinel_group>, true},
                                         rotation_case{"cluster", &make<cluster_nodes>, true},
                                         etcd_case_with_files, mysql_table_case, mysql_named_case,
                                         postgres_table_case, postgres_prefer_case,
                                         postgres_advisory_case),
                         name_of);
INSTANTIATE_TEST_SUITE_P(stores, RotatedAuthority,
                         testing::Values(single_redis_case, redlock_case, etcd_case_with_files,
                                         etcd_addresses_case, mysql_table_case, mysql_named_case,
                                         postgres_table_case, postgres_advisory_case),
                         name_of);

}  // namespace
}  // namespace herdlock_test
