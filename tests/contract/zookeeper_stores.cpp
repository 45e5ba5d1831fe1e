#include <support/zookeeper_server.hpp>

#include "fixture.hpp"
#include "stores/zookeeper/zookeeper_store.hpp"

namespace herdlock_test {

// A chroot of its own for each test. A session is slow to end, so whatever is brief is not a ttl
// that a handshake fits in.
void add_zookeeper_stores(std::vector<store_case>& stores) {
  for (std::string names : {"curator", "kazoo"}) {
    store_case one{"zookeeper_" + names,
                   [names](auto const&) {
                     auto& server = zookeeper_server::shared();
                     return server.url(server.fresh_chroot()) + "?names=" + names;
                   },
                   &open_zookeeper};
    one.queues = true;
    one.keeps_values = false;
    stores.push_back(std::move(one));
  }
}

}  // namespace herdlock_test
