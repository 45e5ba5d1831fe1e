#include "stores/mysql/mysql_store.hpp"

#include <herdlock/url_scheme.hpp>

#include "stores/mysql/resource_queue.hpp"

namespace herdlock {
namespace mysql {
namespace {

// Beside those that hold and wait: for what takes a round trip.
constexpr std::size_t command_connections = 4;

template <class State>
std::shared_ptr<State> make_state(settings const& how, asio::any_io_executor const& executor) {
  auto pending = std::make_shared<stores::pending_operations>(
      executor, stores::pending_settings{
                    .store = how.display_name,
                    .late = how.address() + " did not answer within " + in_ms(how.timeout) +
                            "; is it overloaded, or the network in between down?",
                    .max_pending = how.max_pending});
  bool const table = how.mode == lock_mode::table;
  return std::make_shared<State>(how, std::move(pending), table ? how.pool : command_connections,
                                 table ? 0 : how.pool);
}

void put_leases(backend& into, settings const& how, asio::any_io_executor const& executor) {
  if (how.mode == lock_mode::table) {
    auto state = make_state<store_state>(how, executor);
    into.warnings = state->warnings;
    into.leases = make_table_store(std::move(state));
    return;
  }
  auto state = make_state<session_state>(how, executor);
  into.warnings = state->warnings;
  state->protocol =
      how.mode == lock_mode::row ? make_row_protocol(*state) : make_named_protocol(*state);
  into.leases = make_session_store(std::move(state));
}

}  // namespace
}  // namespace mysql

result<backend> open_mysql(store_url url, asio::any_io_executor executor) {
  auto const how = mysql::parse_settings(std::move(url));
  if (!how) return how.error();
  backend made;
  mysql::put_leases(made, *how, executor);
  made.traits.queues = how->mode != mysql::lock_mode::table;
  made.traits.leaves_leases = how->mode == mysql::lock_mode::table;
  made.traits.across_processes = true;
  made.traits.across_hosts = true;
  made.display_name = how->display_name;
  return made;
}

std::span<url_scheme const> v0::mysql_schemes() {
  static constexpr url_scheme schemes[] = {
      {"mysql", open_mysql, examine_mysql},
      {"mariadb", open_mysql, examine_mysql},
  };
  return schemes;
}

}  // namespace herdlock
