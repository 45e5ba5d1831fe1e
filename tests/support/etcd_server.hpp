// Real etcd members on free loopback ports.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <support/child_process.hpp>
#include <support/free_port.hpp>
#include <support/temp_dir.hpp>
#include <support/tls_files.hpp>

namespace herdlock_test {

/// One member of a cluster of `names`; see etcd_server and etcd_cluster.
class etcd_member {
 public:
  etcd_member(std::string name, std::vector<std::string> more = {});

  std::uint16_t port() const { return port_; }
  std::uint16_t peer_port() const { return peer_port_; }
  std::string const& name() const { return name_; }

  /// Before start().
  void use_tls(std::vector<std::string> const& arguments, tls_files const& files);
  std::optional<tls_files> const& tls() const { return tls_; }
  std::filesystem::path certificates() const { return certificates_.path(); }

  /// `cluster` is the --initial-cluster that all members are started with.
  void start(std::string const& cluster);
  bool answers() const;
  bool running() { return child_ && child_->running(); }
  void kill();
  void pause() { child_->pause(); }
  void resume() { child_->resume(); }

  /// Runs etcdctl on this member; throws with what it printed when it fails.
  std::string ctl(std::vector<std::string> const& arguments) const;
  /// A process of its own, for `lock`.
  child_options ctl_process(std::vector<std::string> const& arguments) const;
  /// A line of /metrics, by its name with labels.
  double metric(std::string const& name) const;
  std::string errors() const { return child_ ? child_->errors() : std::string(); }

 private:
  std::string name_;
  std::vector<std::string> more_;
  std::optional<tls_files> tls_;
  std::string client_url() const;

  temp_dir folder_;
  temp_dir certificates_;
  kept_ports ports_;
  std::uint16_t port_;
  std::uint16_t peer_port_;
  std::optional<child_process> child_;
};

/// TLS for clients, with certificates made for it.
enum class etcd_tls { off, on, on_with_wrong_name, on_with_client_certificates };

/// A cluster of one. It starts in the constructor (0.1–2 s), with short election times, so that its
/// shortest lease is one second. Throws std::runtime_error when the program is missing.
class etcd_server {
 public:
  explicit etcd_server(std::vector<std::string> more = {}, etcd_tls how = etcd_tls::off);

  /// One server per test process, started at the first call.
  static etcd_server& shared();

  std::uint16_t port() const { return member_.port(); }
  std::string url() const { return "etcd://127.0.0.1:" + std::to_string(port()); }
  etcd_member& member() { return member_; }

  tls_files const& tls() const { return *member_.tls(); }

  void flush();  ///< removes all keys
  /// The numbers of the leases that the server has now, as etcdctl writes them.
  std::vector<std::string> leases() const;
  /// Ends one. One that ends by itself meanwhile is ended, too.
  void revoke(std::string const& lease);
  void revoke_all_leases();
  void kill() { member_.kill(); }
  void restart();  ///< with its data
  double metric(std::string const& name) const { return member_.metric(name); }
  void start();  ///< with its data, after kill()

 private:
  etcd_member member_;
};

/// Three members.
class etcd_cluster {
 public:
  etcd_cluster();

  std::string url() const;
  etcd_member& member(std::size_t index) { return *members_[index]; }
  std::size_t size() const { return members_.size(); }
  std::size_t leader() const;  ///< its index; waits for one
  void start(std::size_t index) { members_[index]->start(names_); }
  void restart(std::size_t index);  ///< and waits until it answers

 private:
  std::vector<std::unique_ptr<etcd_member>> members_;
  std::string names_;
};

}  // namespace herdlock_test
