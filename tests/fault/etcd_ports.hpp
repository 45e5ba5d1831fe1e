// An etcd store's ports on the test's own thread.
#pragma once

#include <contract/fixture.hpp>
#include <string>
#include <support/etcd_server.hpp>
#include <support/relay.hpp>

#include "stores/etcd/etcd_store.hpp"

namespace herdlock_test {

inline store_case const& etcd_case() {
  static store_case const kind{
      .name = "etcd", .url = {}, .open = &open_etcd, .queues = true, .keeps_values = false};
  return kind;
}

class etcd_client : public client {
 public:
  explicit etcd_client(std::string const& url) : client(etcd_case(), url) {}

  pending<acquire_reply> wait_for(resource const& name, owner_token const& owner,
                                  milliseconds ttl = 1min) {
    return start_acquire({name, owner, ttl, 1min});
  }
  std::size_t waiting(resource const& name) {
    auto const info = inspect(name);
    return info && *info ? (*info)->waiting : 0;
  }
};

inline std::string through(relay const& path, std::string const& options = "") {
  return "etcd://127.0.0.1:" + std::to_string(path.port()) + options;
}

}  // namespace herdlock_test
