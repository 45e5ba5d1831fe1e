#include <herdlock/backend.hpp>
#include <herdlock/examination.hpp>
#include <herdlock/url.hpp>
#include <herdlock/url_scheme.hpp>

#include "stores/redis/cluster/cluster_store.hpp"
#include "stores/redis/examination/examination.hpp"
#include "stores/redis/redis_store.hpp"
#include "stores/redis/redlock/redlock_store.hpp"

namespace herdlock {
inline namespace v0 {

std::span<url_scheme const> redis_schemes() {
  static constexpr url_scheme schemes[] = {
      {"redis", open_redis, examine_redis},
      {"rediss", open_redis, examine_redis},
      {"redis+unix", open_redis, examine_redis},
      {"redis+sentinel", open_redis, examine_redis},
      {"rediss+sentinel", open_redis, examine_redis},
      {"redlock", open_redlock, examine_redlock},
      {"redis+cluster", open_redis_cluster, examine_redis_cluster},
      {"rediss+cluster", open_redis_cluster, examine_redis_cluster},
  };
  return schemes;
}

}  // namespace v0
}  // namespace herdlock
