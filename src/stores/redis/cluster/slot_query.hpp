// One query for the map of a cluster.
#pragma once

#include <functional>

#include <herdlock/detail/async.hpp>
#include "stores/redis/client/command.hpp"
#include "stores/redis/cluster/cluster_map.hpp"

namespace herdlock::redis {

/// CLUSTER SLOTS, which every version knows (CLUSTER SHARDS came with 7.0). `done` is called
/// exactly once, never from inside submit(); its failure names the store and the node.
class slot_query final : public command {
 public:
  using callback = std::function<void(result<cluster_map>)>;

  slot_query(asio::any_io_executor executor, std::string store, node_address asked, callback done)
      : executor_(std::move(executor)),
        store_(std::move(store)),
        asked_(std::move(asked)),
        done_(std::move(done)) {}

  void encode(command_writer& out, script_form form) const override;
  void complete(reply const& answer) override;
  void fail(failure const& why, completion when) override;
  bool open() const override { return static_cast<bool>(done_); }

 private:
  void complete(result<cluster_map> outcome, completion when);

  asio::any_io_executor executor_;
  std::string store_;
  node_address asked_;
  callback done_;
};

}  // namespace herdlock::redis
