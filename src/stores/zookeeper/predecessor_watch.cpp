#include "stores/zookeeper/predecessor_watch.hpp"

#include <zookeeper/zookeeper.h>

#include <algorithm>

#include "stores/zookeeper/store_state.hpp"

namespace herdlock::zookeeper {

void predecessor_watch::watch(std::vector<std::string> const& order, std::size_t mine) {
  behind_the_holder_ = mine == 1;
  watch_first(node_.path_of(order[mine - 1]));
  if (!behind_the_holder_) watch_second(node_.path_of(order[mine - 2]));
}

void predecessor_watch::watch_first(std::string const& node) {
  stop();
  watched_ = node;
  store_.watch(watched_, entry_.weak_from_this());
  node_.ask_next(verb::get_watch, watched_, [this](reply const& answer) { on_watching(answer); });
}

void predecessor_watch::on_watching(reply const& answer) {
  if (watched_.empty() || answer.code == ZOK || answer.code == ZSESSIONEXPIRED) return;
  auto const predecessor = watched_;
  stop();
  if (answer.code == ZNONODE || answer.code == ZCONNECTIONLOSS) return entry_.list();
  entry_.fail_and_leave(answer.code, predecessor);
}

// The answer belongs to the same step as the watch on the predecessor, which stays.
// Why: docs/stores/zookeeper.md#queued-as-curator-and-kazoo-do
void predecessor_watch::watch_second(std::string const& node) {
  if (second_ != node) {
    if (!second_.empty()) store_.unwatch(second_, &entry_);
    second_ = node;
    store_.watch(second_, entry_.weak_from_this());
  }
  node_.ask({verb::get_watch, node, {}, node_.session_number()}, [this, node](reply const& answer) {
    if (second_ == node && answer.code == ZNONODE) list_again();
  });
}

void predecessor_watch::list_again() {
  store_.unwatch(second_, &entry_);
  second_.clear();
  node_.ask({verb::children, node_.parent(), {}, node_.session_number()},
            [this](reply answer) { on_listed_again(std::move(answer)); });
}

// Whatever is not as expected is for the watch on the predecessor, or for the next connection.
void predecessor_watch::on_listed_again(reply answer) {
  if (watched_.empty() || answer.code != ZOK) return;
  auto const order = in_order(std::move(answer.names));
  auto const mine = std::ranges::find(order, node_.node());
  if (mine == order.end() || mine == order.begin()) return;
  if (node_.path_of(*(mine - 1)) != watched_) return;
  behind_the_holder_ = mine == order.begin() + 1;
  if (!behind_the_holder_) watch_second(node_.path_of(*(mine - 2)));
}

predecessor_watch::news predecessor_watch::on_event(std::string const& path, watch_event what) {
  if (path == second_) {
    if (what == watch_event::gone) {
      list_again();
    } else {
      watch_second(path);
    }
    return news::none;
  }
  if (path != watched_) return news::none;
  auto const predecessor = watched_;
  stop();
  if (what != watch_event::gone) {
    watch_first(predecessor);
    return news::none;
  }
  // Nobody gets in between: numbers only rise.
  return behind_the_holder_ ? news::first : news::look;
}

void predecessor_watch::stop() {
  for (auto* each : {&watched_, &second_}) {
    if (!each->empty()) store_.unwatch(*each, &entry_);
    each->clear();
  }
}

}  // namespace herdlock::zookeeper
