// A real Redis Cluster on free loopback ports.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <support/free_port.hpp>
#include <support/redis_server.hpp>
#include <support/relay.hpp>

namespace herdlock_test {

enum class announced { own_ports, relays };

struct redis_cluster_options {
  std::size_t masters = 3;
  std::size_t replicas = 0;  ///< of the last master
  std::string password{};
  redis_tls tls = redis_tls::off;          ///< also between the nodes
  announced ports = announced::own_ports;  ///< what the nodes tell their clients
};

/// Is complete and answers when the constructor returns: the masters are the nodes 0, 1, …, and
/// share the slots evenly; their replicas follow. A dead node takes only its own slots with it.
class redis_cluster {
 public:
  explicit redis_cluster(redis_cluster_options options = {});

  /// One per test process, started at the first call. Tests begin with flush().
  static redis_cluster& shared();

  std::size_t size() const { return nodes_.size(); }
  redis_server& node(std::size_t i) { return *nodes_.at(i); }
  /// With announced::relays: what stands in front of a node.
  relay& in_front_of(std::size_t i) { return *relays_.at(i); }

  /// `redis+cluster://[:password@]` and all its nodes, in their order.
  std::string url() const;
  /// The same with TLS.
  std::string tls_url() const;

  int slot_of(std::string_view key) const;
  /// The node that says it serves the slot of this key.
  std::size_t home_of(std::string_view key) const;
  /// A name `prefix0`, `prefix1`, … that node i serves.
  std::string name_at(std::size_t i, std::string const& prefix = "r") const;

  /// Moves a slot to another master as resharding does: key by key. `between` is called when the
  /// move has begun, and after each key.
  void move_slot(
      int slot, std::size_t to, std::function<void()> const& between = [] {});

  /// The replica that waits for it takes over from the last master, which is killed; all others
  /// forget the old one. Returns when they agree.
  void fail_over();
  /// A killed node comes back and hears nothing of the others, nor they of it: it has its old map,
  /// and says `fail` when this returns.
  void bring_back_cut_off(std::size_t i);
  /// A killed node's address is given to a node of another cluster, which serves all slots.
  void replace_by_stranger(std::size_t i);
  /// The node itself is at its address again.
  void bring_back_from_stranger(std::size_t i);

  /// How often all nodes together have answered with this error.
  std::uint64_t errors(std::string const& word) const;

  /// Waits until all running nodes agree that all is well; throws when they do not in time.
  void wait_until_ok() const;
  void flush();  ///< FLUSHALL and SCRIPT FLUSH on each master

 private:
  void join();
  bool is_ok(redis_server const& node) const;
  std::string id_of(std::size_t i) const;
  std::filesystem::path map_file(std::size_t i) const;
  std::size_t owner_of(int slot, std::size_t asked = 0) const;  ///< as that node sees it

  redis_cluster_options options_;
  temp_dir folder_;  // of the certificates
  kept_ports ports_;
  std::vector<std::uint16_t> bus_ports_;
  std::vector<std::unique_ptr<redis_server>> nodes_;
  std::vector<std::unique_ptr<relay>> relays_;
};

}  // namespace herdlock_test
