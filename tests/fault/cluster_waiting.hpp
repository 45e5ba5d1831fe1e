// Waits at a Redis Cluster, and what its queues look like from the outside.
#pragma once

#include "cluster_ports.hpp"
#include "redis_wait.hpp"

namespace herdlock_test {

/// Of one name. The waits have to outlive the stores that they are started on.
class cluster_line {
 public:
  cluster_line(redis_cluster& cluster, std::string name)
      : cluster_(&cluster), name_(std::move(name)) {}

  std::string const& name() const { return name_; }
  redis_server& home() const { return cluster_->node(cluster_->home_of(name_)); }
  std::string holder() const { return home().command({"GET", name_}); }
  std::string members() const { return home().command({"ZRANGE", queue_key(), "0", "-1"}); }
  long length() const { return std::stol(home().command({"ZCARD", queue_key()})); }
  std::string queue_key() const { return "{" + name_ + "}:herdlock:queue"; }
  std::string fence_key() const { return "{" + name_ + "}:herdlock:fence"; }

  redis_wait* start(redis_ports& ports, milliseconds wait = 1min) {
    auto* const one = waits_.emplace_back(std::make_unique<redis_wait>()).get();
    one->start(ports, resource(name_), wait);
    return one;
  }
  /// In the queue when it returns, by a subscriber that listens at the very node.
  redis_wait* enqueue(redis_ports& ports) {
    auto* const one = start(ports);
    EXPECT_TRUE(ports.wait_for([&] { return is_heard(one->owner); })) << members();
    return one;
  }

  /// The subscriber in the member of this owner: "" when there is none.
  std::string subscriber_of(owner_token const& owner) const {
    auto const all = "\n" + members();
    auto const at = all.find(owner.str());
    if (at == std::string::npos) return "";
    auto const begin = all.rfind('\n', at) + 1;
    return all.substr(begin, all.find(' ', begin) - begin);
  }
  bool is_heard(owner_token const& owner) const {
    auto const subscriber = subscriber_of(owner);
    if (subscriber.size() < 2) return false;
    auto const count = home().command({"PUBSUB", "NUMSUB", "herdlock:grants:" + subscriber});
    return count.ends_with("\n1") || count.ends_with("\n1\n");
  }
  /// The owners among these that are in the queue, in its order.
  bool stands_in_order(std::vector<redis_wait*> const& these) const {
    auto const all = members();
    std::size_t last = 0;
    for (auto const* one : these) {
      auto const at = all.find(one->owner.str());
      if (at == std::string::npos || at < last) return false;
      last = at;
    }
    return std::count(all.begin(), all.end(), ':') >= static_cast<long>(these.size());
  }

 private:
  redis_cluster* cluster_;
  std::string name_;
  std::vector<std::unique_ptr<redis_wait>> waits_;
};

}  // namespace herdlock_test
