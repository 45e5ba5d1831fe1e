#include <herdlock/backend.hpp>
#include <herdlock/examination.hpp>
#include <herdlock/url.hpp>
#include <herdlock/url_scheme.hpp>

#include "stores/etcd/etcd_store.hpp"
#include "stores/etcd/examination.hpp"

namespace herdlock {
inline namespace v0 {

std::span<url_scheme const> etcd_schemes() {
  static constexpr url_scheme schemes[] = {
      {"etcd", open_etcd, examine_etcd},
      {"etcds", open_etcd, examine_etcd},
  };
  return schemes;
}

}  // namespace v0
}  // namespace herdlock
