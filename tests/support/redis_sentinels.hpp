// A Redis master with two replicas, and three sentinels that fail over between them.
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <support/redis_server.hpp>

namespace herdlock_test {

struct sentinels_options {
  std::string password{};                ///< of the data servers
  std::string sentinel_password{};       ///< of the sentinels
  std::vector<std::string> arguments{};  ///< more for each data server
  /// Of the data servers, also between them. The sentinels then have it, too, always with their
  /// right name.
  redis_tls tls = redis_tls::off;
  /// A master that is silent for so long loses its place.
  std::chrono::milliseconds down_after{1'000};
};

/// Where no test stops a master: longer than a busy machine lets it wait.
inline constexpr std::chrono::milliseconds never_down{600'000};

/// Starts in the constructor; when that returns both replicas are in step and every sentinel knows
/// the others. Throws std::runtime_error when that does not come about.
class redis_sentinels {
 public:
  explicit redis_sentinels(sentinels_options options = {});

  /// `redis+sentinel://[:password@]127.0.0.1:P1,127.0.0.1:P2,127.0.0.1:P3/mymaster`; with TLS
  /// `rediss+sentinel://` and a cafile.
  std::string url(std::string const& name = "mymaster") const;
  tls_files const& tls() const { return *certificates_; }

  /// The data servers; which of them is the master, the sentinels say.
  redis_server& master();
  /// All others, dead or alive.
  std::vector<redis_server*> replicas();
  redis_server& server(std::size_t index) { return *servers_[index]; }
  std::size_t servers() const { return servers_.size(); }

  void kill_master();  ///< SIGKILL; a new one is writable some two seconds later
  /// Asks a sentinel for a failover (the old master becomes a replica) and waits until another
  /// server is the master and every sentinel says so.
  void failover();
  /// Waits until the sentinels agree on a master other than the one of this public port.
  void await_master_other_than(std::uint16_t port);
  /// Waits until no sentinel is in the middle of a failover, and all name the same master. One that
  /// is waits for ever for the server that it has promoted: who takes that one away then waits,
  /// too.
  void await_calm();
  /// Waits until each sentinel would replace a master that is gone: one that hung needs 30 s.
  void await_action();
  /// Waits until the master has as many replicas in step.
  void await_replicas(int count);
  /// Restarts a killed server as a replica of the present master.
  void rejoin(redis_server& dead);

  redis_server& sentinel(std::size_t index) { return *sentinels_[index]; }
  std::size_t sentinels() const { return sentinels_.size(); }
  void kill_sentinels();
  /// The one to which most clients of ours are subscribed.
  std::size_t most_listened_sentinel() const;
  /// From now on the others are asked what the sentinels say; it hangs until the second call.
  void hang_sentinel(std::size_t index);
  void resume_sentinel(std::size_t index);

  /// The master's own clients stay, and no sentinel can look at it, make it a replica or cut its
  /// clients off any more: it cannot be told that another server has taken its place.
  void lock_sentinels_out_of_the_master();

  void flush() { master().flush(); }

 private:
  std::uint16_t master_port(redis_server const& asked) const;
  std::vector<redis_server*> listening_sentinels() const;
  std::uint16_t common_master_port() const;
  bool has_master_other_than(std::uint16_t port);
  std::string words() const;
  std::unique_ptr<redis_server> make_sentinel();

  sentinels_options options_;
  temp_dir folder_;  // of the certificates
  std::optional<tls_files> certificates_;
  std::vector<std::unique_ptr<redis_server>> servers_;
  std::vector<std::unique_ptr<redis_server>> sentinels_;
  std::set<std::size_t> silent_;  // sentinels that are not to be asked
};

}  // namespace herdlock_test
