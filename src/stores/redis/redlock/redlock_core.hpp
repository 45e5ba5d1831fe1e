// What the operations of a redlock store share: its nodes, one timer, the numbers of attempts.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <vector>

#include "algo/node_clocks.hpp"
#include "algo/quorum.hpp"
#include "stores/common/connection_news.hpp"
#include "stores/redis/redlock/redlock_node.hpp"
#include "stores/redis/redlock/redlock_settings.hpp"

namespace herdlock::redis {

/// Operations that wait for the nodes to be connected to at first; one more opens the gate for all.
inline constexpr std::size_t max_at_gate = 10'000;

class redlock_core;

/// One operation over all nodes.
class redlock_op : public node_request, public std::enable_shared_from_this<redlock_op> {
 public:
  redlock_op(std::shared_ptr<redlock_core> core, lease_request what)
      : node_request(std::move(what)), core_(std::move(core)) {}

  /// Asks the nodes.
  virtual void begin() = 0;
  /// The time for waiting is over: decides with what there is.
  virtual void give_up() = 0;
  /// The caller, or the store, has gone.
  virtual void cancel(failure const& why) = 0;

  std::shared_ptr<redlock_op> shared() { return shared_from_this(); }

  /// Due when the time for waiting is over: from the core's watch() until it is decided.
  class timeout final : public steady_shared_timer::entry {
   public:
    explicit timeout(redlock_op& of) : op(of) {}
    redlock_op& op;

   private:
    void on_due(time_point now) override { op.on_timeout(now); }
  };
  timeout late{*this};
  milliseconds limit{0};

 protected:
  /// Those that are neither down nor silent are asked; the others are reported by no_answer().
  void ask_all(node_verb verb);
  virtual void no_answer(std::size_t node, failure const& why) = 0;
  /// Its caller has not been told yet.
  virtual bool waiting() const = 0;

  std::shared_ptr<redlock_core> core_;
  algo::node_set asked_;

 private:
  void on_timeout(timeout::time_point now);

  bool stalled_once_ = false;
};

class redlock_core final : public node_listener, public std::enable_shared_from_this<redlock_core> {
 public:
  /// What weakens a lock at its nodes is told to `warnings`.
  redlock_core(asio::any_io_executor executor, redlock_settings how,
               std::shared_ptr<store_warnings> const& warnings);

  void open();
  void close();

  /// Begins it, once the nodes have had their time to connect.
  void start(std::shared_ptr<redlock_op> const& op);
  /// From begin() on give_up() is called after `limit`, unless the operation unlinked itself.
  void watch(redlock_op& op, milliseconds limit);

  std::size_t size() const { return nodes_.size(); }
  redlock_node& node(std::size_t i) { return *nodes_[i]; }
  redlock_settings const& how() const { return how_; }
  asio::any_io_executor const& executor() const { return executor_; }
  bool closed() const { return closed_; }

  /// How long to wait for a node where the answer is worth nothing after the ttl.
  milliseconds patience(milliseconds ttl) const;

  /// Greater than all before it in this process, and a little ahead of the servers' clocks.
  std::int64_t next_attempt();
  /// A node's counter was this far.
  void heard_counter(std::uint64_t counter);

  stores::connection_news& news() { return news_; }

  failure store_failure(errc code, lease_request const& what, node_verb verb,
                        std::string const& why) const;

 private:
  using time_point = std::chrono::steady_clock::time_point;

  void on_node_known() override;
  void on_node_ready() override { news_.tell(); }
  void on_node_server(std::size_t node, std::string const& run_id) override;
  void on_node_time(std::size_t node, std::int64_t server_time) override;

  std::size_t ready_count() const;
  void wait_for_nodes(milliseconds pause);
  void open_gate();

  asio::any_io_executor executor_;
  redlock_settings how_;
  std::vector<std::shared_ptr<redlock_node>> nodes_;

  asio::steady_timer gate_timer_;
  std::vector<std::shared_ptr<redlock_op>> at_gate_;
  time_point gate_until_{};
  bool gate_open_ = false;

  std::shared_ptr<steady_shared_timer> timers_;  // of the operations that are not decided yet

  stores::connection_news news_;
  std::shared_ptr<store_warnings> warnings_;
  algo::node_clocks clocks_;
  std::vector<std::string> run_ids_;  // of the servers behind the nodes; empty: not known
  std::int64_t last_attempt_ = 0;
  bool closed_ = false;
};

}  // namespace herdlock::redis
