#include "stores/postgres/holder_search.hpp"

#include <utility>

#include "stores/postgres/session_statements.hpp"

namespace herdlock::postgres {
namespace {

constexpr int most_looks = 50;

using on_found = std::function<void(found_holder)>;

void look(std::shared_ptr<command_connection> const& by, resource const& name, int looks,
          on_found done) {
  auto on_reply = [weak = std::weak_ptr(by), name, looks,
                   done = std::move(done)](reply const& found) {
    if (!found) return done(found.error());
    if (!is_being_granted(*found)) return done(to_lease_info(*found));
    auto const again = looks > 1 ? weak.lock() : nullptr;
    if (again) return look(again, name, looks - 1, done);
    done(std::optional<lease_info>());
  };
  by->run({"look", {as_bytes(name.str())}}, std::move(on_reply));
}

}  // namespace

void find_holder(std::shared_ptr<command_connection> const& by, resource const& name,
                 on_found done) {
  look(by, name, most_looks, std::move(done));
}

}  // namespace herdlock::postgres
