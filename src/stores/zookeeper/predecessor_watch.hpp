// What an entry of a queue watches: the node in front of its own, and the one in front of that.
#pragma once

#include "stores/zookeeper/own_node.hpp"

namespace herdlock::zookeeper {

class queue_entry;
class store_state;

/// Who waits for a waiter finds out in good time when that one has become the holder, so that there
/// is nothing left to ask when it goes, too.
class predecessor_watch {
 public:
  predecessor_watch(store_state& store, queue_entry& entry, own_node& node)
      : store_(store), entry_(entry), node_(node) {}

  /// Ours is the one at `mine`, which is not the first.
  void watch(std::vector<std::string> const& order, std::size_t mine);
  void stop();

  enum class news { none, look, first };
  /// Something happened to a node that is watched.
  news on_event(std::string const& path, watch_event what);

 private:
  void watch_first(std::string const& node);
  void on_watching(reply const& answer);
  void watch_second(std::string const& node);
  void list_again();
  void on_listed_again(reply answer);

  store_state& store_;
  queue_entry& entry_;
  own_node& node_;

  std::string watched_;  ///< our predecessor
  std::string second_;   ///< its predecessor: when that goes, ours may be the holder
  bool behind_the_holder_ = false;
};

}  // namespace herdlock::zookeeper
