// Keeps the map of a cluster fresh: asks one node after the other until one answers with a map that
// counts. Which one does, and who is asked last, says map_ranking; how many at once, map_search.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <vector>

#include <herdlock/detail/async.hpp>
#include "stores/redis/cluster/cluster_members.hpp"
#include "stores/redis/cluster/map_question.hpp"
#include "stores/redis/cluster/map_ranking.hpp"
#include "stores/redis/cluster/map_search.hpp"
#include "stores/redis/settings.hpp"

namespace herdlock::redis {

class connection;

/// However often it is asked for, rounds begin at least half of this apart (a random part between
/// half of it and all), and after failed ones up to the second, doubled from one to the next.
inline constexpr milliseconds min_map_pause{100};
inline constexpr milliseconds max_map_pause{2000};
/// The same after rounds with a map that was not to be believed, or before others are asked: a
/// failover ends such a time, and is to be seen soon.
inline constexpr milliseconds max_doubtful_pause{500};
/// When a node has not answered after this (or a quarter of the timeout), the next is asked as
/// well.
inline constexpr milliseconds max_map_patience{250};

class map_user {
 public:
  virtual ~map_user() = default;
  /// Whom to ask, in this order.
  virtual std::vector<node_address> nodes_to_ask() = 0;
  /// Null when there are too many nodes.
  virtual std::shared_ptr<connection> connection_to(node_address const& node) = 0;
  /// A sound one counts at once: nobody else has to be asked.
  virtual void on_map(cluster_map map, map_worth worth) = 0;
  /// Nobody answered with a map. The next round begins by itself.
  virtual void on_no_map(failure const& why) = 0;
};

/// All members on the executor.
class map_finder final : public std::enable_shared_from_this<map_finder> {
 public:
  map_finder(asio::any_io_executor const& executor, settings how,
             std::shared_ptr<cluster_members> members, map_user& user)
      : how_(std::move(how)), members_(std::move(members)), user_(&user), timer_(executor) {}

  /// A round that begins after this call, soon; together with those that are wanted already.
  void refresh();
  /// It said that it, or its cluster, is down: it is asked last, until it gives a sound map.
  void suspect(node_address const& node) { ranking_.suspect(node); }
  /// Those that are to be asked last at the end.
  std::vector<node_address> in_order(std::vector<node_address> nodes) const {
    return ranking_.in_order(std::move(nodes));
  }
  /// The connection to it failed: no use waiting for its answer.
  void on_down(node_address const& node, failure const& why);
  void close();

 private:
  enum class stage { idle, pausing, asking };
  struct probe {
    node_address at;
    bool open = false;  // its answer counts
  };

  void pause();
  void begin();
  void ask_next();
  void on_silence();
  void end_round();
  void ask(std::size_t index);
  void on_answer(std::uint64_t round, std::size_t index, result<map_answer> answer);
  void take(map_answer answer, map_worth worth);
  void leave(node_address const& stranger, failure const& why);

  settings how_;
  std::shared_ptr<cluster_members> members_;
  map_ranking ranking_;
  map_user* user_;  // null when closed
  asio::steady_timer timer_;
  stage stage_ = stage::idle;
  bool again_ = false;
  std::uint64_t round_ = 0;
  map_search search_;
  std::vector<probe> probes_;  // of this round
  std::size_t asked_ = 0;      // how many of them
  std::size_t open_ = 0;       // and how many of those have not answered
  milliseconds pause_ = min_map_pause;
  std::chrono::steady_clock::time_point begun_{};
};

}  // namespace herdlock::redis
