#include "stores/mysql/mysql_store.hpp"

#include "stores/mysql/session_leases.hpp"
#include "stores/mysql/table_leases.hpp"

namespace herdlock {
namespace mysql {
namespace {

// Beside those that hold and wait: for what takes a round trip.
constexpr std::size_t command_connections = 4;

std::shared_ptr<engine> make_engine(settings const& how, asio::any_io_executor const& executor) {
  auto pending = std::make_shared<stores::pending_operations>(
      executor,
      stores::pending_settings{.store = how.display_name,
                               .late = how.place() + " did not answer within " +
                                       std::to_string(how.timeout.count()) +
                                       " ms; is it overloaded, or the network in between down?",
                               .max_pending = how.max_pending});
  bool const table = how.mode == lock_mode::table;
  return std::make_shared<engine>(how, std::move(pending), table ? how.pool : command_connections,
                                  table ? 0 : how.pool);
}

std::shared_ptr<lease_store> make_leases(std::shared_ptr<engine> with) {
  switch (with->how.mode) {
    case lock_mode::table:
      return make_table_leases(std::move(with));
    case lock_mode::row: {
      auto protocol = make_row_protocol(*with);
      return make_session_leases(std::move(with), std::move(protocol));
    }
    case lock_mode::named: {
      auto protocol = make_named_protocol(*with);
      return make_session_leases(std::move(with), std::move(protocol));
    }
  }
  return nullptr;
}

}  // namespace
}  // namespace mysql

result<backend> open_mysql(store_url url, asio::any_io_executor executor) {
  auto const how = mysql::parse_settings(std::move(url));
  if (!how) return how.error();
  backend made;
  made.leases = mysql::make_leases(mysql::make_engine(*how, executor));
  made.traits.queues = how->mode != mysql::lock_mode::table;
  made.traits.across_processes = true;
  made.traits.across_hosts = true;
  made.display_name = how->display_name;
  return made;
}

}  // namespace herdlock
