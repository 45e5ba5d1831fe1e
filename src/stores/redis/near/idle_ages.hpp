// How long the servers of a store keep what looks idle.
#pragma once

#include <map>
#include <memory>

#include <herdlock/detail/async.hpp>
#include <herdlock/tracking_store.hpp>
#include "algo/eviction_age.hpp"
#include "stores/redis/near/tracking.hpp"

namespace herdlock::redis {

/// INFO stats keyspace, of each server that may evict. On the executor.
class idle_ages final : public std::enable_shared_from_this<idle_ages> {
 public:
  explicit idle_ages(std::shared_ptr<tracking> links) : links_(std::move(links)) {}

  /// Between this call and the last one.
  void ask(asio::any_io_executor const& executor, handler<eviction_news> done);

 private:
  class sum_of_answers;

  std::shared_ptr<tracking> links_;
  std::map<link_id, algo::eviction_age> ages_;
};

}  // namespace herdlock::redis
