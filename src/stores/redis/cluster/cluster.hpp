// A Redis Cluster: each command goes to the node that serves its key's slot.
//
// Protocol: the Redis Cluster specification. The map of slots comes from CLUSTER SLOTS and is
// corrected by the nodes themselves:
//  * MOVED: the command goes to the named node at once, and the map is asked for anew;
//  * ASK: ASKING and the command go to the named node, and the map stays as it is;
//  * TRYAGAIN, CLUSTERDOWN, LOADING: the command is tried again after a short pause.
// In each of these cases the node has not executed it, so sending it again cannot do it twice. It
// keeps its caller's deadline, cancellation and handler through all of that. What was sent over a
// connection that is lost has an unknown outcome and fails, as with a single server.
//
// Not each map is believed (map_ranking), and not each node at an address of ours is one of ours
// (cluster_members).
//
// Each node is examined when a connection to it comes up, and what its fencing counters must have
// reached is its own: its time at that moment. A counter of a replica that lagged is older than the
// end of its master, and the replica's connection has to be younger; so one that came up while the
// node was a replica, or before it was out of the map, is made anew when it is to serve a slot.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "stores/redis/client/connection.hpp"
#include "stores/redis/cluster/cluster_map.hpp"
#include "stores/redis/cluster/deferred_commands.hpp"
#include "stores/redis/cluster/map_finder.hpp"
#include "stores/redis/cluster/redirection.hpp"
#include "stores/redis/near/tracking.hpp"

namespace herdlock::redis {

/// Redirections that a command follows at once, one after the other; one more fails it.
inline constexpr std::uint8_t max_hops = 5;
/// The pause before a command is tried again: doubled from the first to the second of these, each
/// time a random part between half of it and all.
inline constexpr milliseconds min_try_pause{4};
inline constexpr milliseconds max_try_pause{64};
/// A command is not tried again in the last eighth of its time, or in this.
inline constexpr milliseconds max_last_moment{250};
/// The bus between the nodes may lose an event or bring it late, so who waits for one looks at
/// least this often.
inline constexpr milliseconds cluster_silence{1000};

/// Of the search for a map.
struct map_errors {
  failure last;
  failure refused;  ///< every node that could be asked says no to the settings
};

/// All members on the executor. One connection per node, opened by the first command for it, or to
/// ask it for a map; a node that leaves the map is left when its last command has ended, and one
/// that no command needed when a sound map was found.
class cluster final : public router, public map_user, public std::enable_shared_from_this<cluster> {
 public:
  /// `how` is what all nodes have in common; `seeds` where the first map comes from; `links` is to
  /// know the connections to the nodes, and which slots move, or null.
  cluster(asio::any_io_executor executor, settings how, std::vector<node_address> seeds,
          std::shared_ptr<store_warnings> warnings, std::shared_ptr<tracking> links = nullptr);
  ~cluster() override;

  void open();
  /// Everything outstanding completes with errc::canceled, and nothing is taken any more.
  void close();

  void submit(command_ptr what) override;
  void cancel(command& what) override;
  settings const& how() const override { return how_; }
  asio::any_io_executor const& executor() const override { return executor_; }
  std::weak_ptr<router> weak_router() override { return weak_from_this(); }
  connection* carrier_for(std::string_view key) override;
  std::vector<std::shared_ptr<connection>> servers() override;
  void watch_routes(std::weak_ptr<route_listener> listener) override {
    route_listener_ = std::move(listener);
  }
  failure check_key(std::string_view key) const override;
  std::shared_ptr<connection> make_event_connection() override;
  bool events_may_be_late() const override { return true; }
  milliseconds longest_silence() const override { return cluster_silence; }

 private:
  class node;

  std::vector<node_address> nodes_to_ask() override;
  std::shared_ptr<connection> connection_to(node_address const& at) override;
  void on_map(cluster_map map, map_worth worth) override;
  void on_no_map(failure const& why) override;

  void route(command_ptr one);
  void hop(command_ptr one, node_address const& to);
  void send_to(node_address const& to, command_ptr one);
  void try_again(command_ptr one, failure const& why);
  bool redirect(node& from, command_ptr& one, std::string_view line);
  void on_node_down(node& which);
  void wait_for_map(command_ptr one);
  void wait(command_ptr one, std::chrono::steady_clock::time_point until, failure why);
  failure out_of_time(failure const& why) const;
  failure no_map_in_time() const;

  std::shared_ptr<node> node_at(node_address const& at);
  void retire(std::shared_ptr<node> const& old);
  void choose_event_address(settings& how);

  asio::any_io_executor executor_;
  settings how_;
  std::vector<node_address> seeds_;
  std::shared_ptr<store_warnings> warnings_;
  std::shared_ptr<tracking> links_;  // may be null
  std::weak_ptr<route_listener> route_listener_;
  cluster_map map_;
  std::map<node_address, std::shared_ptr<node>> nodes_;
  std::vector<std::weak_ptr<connection>> event_connections_;
  std::shared_ptr<map_finder> finder_;
  std::shared_ptr<deferred_commands> deferred_;
  map_errors map_errors_;
  bool closed_ = false;
};

}  // namespace herdlock::redis
