#include "stores/postgres/holder_search.hpp"

#include <utility>

#include "stores/postgres/session_statements.hpp"

namespace herdlock::postgres {

void find_holder(std::shared_ptr<command_connection> const& by, resource const& name,
                 std::function<void(found_holder)> done, int looks) {
  auto take = [weak = std::weak_ptr(by), name, looks, done = std::move(done)](reply const& found) {
    if (!found) return done(found.error());
    if (!is_being_granted(*found)) return done(to_lease_info(*found));
    auto const again = looks > 1 ? weak.lock() : nullptr;
    if (again) return find_holder(again, name, done, looks - 1);
    done(std::optional<lease_info>());
  };
  by->run({"look", {as_bytes(name.str())}}, std::move(take));
}

}  // namespace herdlock::postgres
