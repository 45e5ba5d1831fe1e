// Real ZooKeeper servers on free loopback ports: one, or an ensemble.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <support/child_process.hpp>
#include <support/free_port.hpp>
#include <support/temp_dir.hpp>

namespace herdlock_test {

/// What a member has beyond the usual.
struct zookeeper_extras {
  std::vector<std::string> config{};  ///< lines of zoo.cfg, which win over the usual ones
  std::vector<std::string> java{};    ///< as `-Dname=value`
  disk_syncs syncs = disk_syncs::skipped;
};

/// One server, a member of an ensemble if `peers` say so.
class zookeeper_member {
 public:
  struct ports {
    std::uint16_t client;
    std::uint16_t quorum;
    std::uint16_t election;
  };
  /// Its number is its place among `all`, from 1; a single one has no ensemble.
  zookeeper_member(std::size_t number, std::vector<ports> const& all, zookeeper_extras more);

  std::uint16_t port() const { return port_; }
  /// The answer to a four-letter word (`ruok`, `mntr`, `srvr`); empty when it does not answer.
  std::string word(std::string const& four) const;
  /// A figure of `mntr`; nothing when it has none of that name.
  std::optional<double> figure(std::string const& name) const;
  /// It takes sessions: it stands alone, leads or follows.
  bool serves() const;

  void start();
  /// A line of its zoo.cfg from the next start on.
  void configure(std::string const& line);
  bool running() { return child_->running(); }
  std::string errors() const { return child_->output() + child_->errors(); }
  void kill() { child_->kill(); }
  void pause() { child_->pause(); }
  void resume() { child_->resume(); }

 private:
  temp_dir folder_;
  std::vector<std::string> java_;
  disk_syncs syncs_;
  std::uint16_t port_;
  std::optional<child_process> child_;
};

/// Starts in the constructor; ticks of 200 ms, so that sessions may be as short as 400 ms. Throws
/// std::runtime_error when Java or the jars are missing.
class zookeeper_server {
 public:
  explicit zookeeper_server(std::size_t members = 1, zookeeper_extras const& more = {});
  using extras_of =
      std::function<zookeeper_extras(std::size_t, std::vector<zookeeper_member::ports> const&)>;
  /// `more`: what the member of this number, from 1, has; asked anew when a start failed.
  zookeeper_server(std::size_t members, extras_of const& more);

  /// One server per test process, started at the first call.
  static zookeeper_server& shared();

  zookeeper_member& member(std::size_t index) { return *members_[index]; }
  std::size_t size() const { return members_.size(); }
  /// The index of the one that leads, and of one that follows.
  std::size_t leader() const;
  std::size_t follower() const;

  std::uint16_t port() const { return members_.front()->port(); }
  /// A path that nobody has used.
  std::string fresh_chroot();
  /// `zk://127.0.0.1:PORT,…CHROOT`.
  std::string url(std::string const& chroot) const;

  void restart();  ///< of a single one, killed before; with its data
  bool all_serve() const;

 private:
  kept_ports ports_;
  std::vector<std::unique_ptr<zookeeper_member>> members_;
  int chroots_ = 0;
};

}  // namespace herdlock_test
