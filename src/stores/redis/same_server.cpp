#include "stores/redis/same_server.hpp"

#include <algorithm>

namespace herdlock::redis {
namespace {

// New with each start of a server, and no two have the same.
std::string run_id_of(connection const& one) {
  auto const* const facts = one.facts();
  return facts && one.up() ? facts->run_id : std::string();
}

}  // namespace

void same_server::on_connection_up() {
  auto const mine = mine_.lock();
  auto const other = other_.lock();
  if (!mine || !other) return;
  auto const here = run_id_of(*mine);
  auto const there = run_id_of(*other);
  if (here.empty() || there.empty() || here == there) return;
  auto const& store = mine->how().display_name;
  if (moves_->moved(there, here, clock::now())) {
    // The text is the same each time, so it is kept once.
    auto const [one, two] = std::minmax(here, there);
    warnings_->add(store + ": new connections go to and fro between servers (run_id " + one +
                   " and " + two +
                   "), and each time all are made again: the URL has to lead to "
                   "one server at a time");
  }
  other->leave(make_failure(errc::unavailable,
                            store + ": new connections lead to another server than this one; it "
                                    "was given up and is made again"));
}

std::vector<std::shared_ptr<connection_listener>> ties_of(
    std::shared_ptr<connection> const& one, std::shared_ptr<connection> const& other,
    std::shared_ptr<store_warnings> const& warnings) {
  auto const moves = std::make_shared<stores::to_and_fro>();
  auto const here = std::make_shared<same_server>(one, other, moves, warnings);
  auto const there = std::make_shared<same_server>(other, one, moves, warnings);
  one->attach(here);
  other->attach(there);
  return {here, there};
}

}  // namespace herdlock::redis
