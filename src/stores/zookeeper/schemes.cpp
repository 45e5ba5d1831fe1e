#include <herdlock/backend.hpp>
#include <herdlock/examination.hpp>
#include <herdlock/url.hpp>
#include <herdlock/url_scheme.hpp>

#include "stores/zookeeper/examination.hpp"
#include "stores/zookeeper/zookeeper_store.hpp"

namespace herdlock {
inline namespace v0 {

std::span<url_scheme const> zookeeper_schemes() {
  static constexpr url_scheme schemes[] = {
      {"zk", open_zookeeper, examine_zookeeper},
  };
  return schemes;
}

}  // namespace v0
}  // namespace herdlock
