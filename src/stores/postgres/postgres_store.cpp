#include "stores/postgres/postgres_store.hpp"

#include <herdlock/url_scheme.hpp>

#include "stores/common/numbers.hpp"
#include "stores/postgres/modes.hpp"

namespace herdlock {

result<backend> open_postgres(store_url url, asio::any_io_executor executor) {
  auto what = postgres::take_settings(std::move(url));
  if (!what) return what.error();
  bool const table = what->mode == postgres::lock_mode::table;
  std::string late = "the server did not answer within " + in_ms(what->timeout);
  if (!table) {
    late += ", or all sessions are taken (sessions=" + std::to_string(what->sessions) + ")";
  }
  auto const name = what->display_name;
  auto pending = std::make_shared<stores::pending_operations>(
      std::move(executor), stores::pending_settings{.store = name,
                                                    .late = std::move(late),
                                                    .max_pending = what->max_pending,
                                                    .timeout = what->timeout});
  auto const make = table ? postgres::make_table_store : postgres::make_session_store;
  store_traits traits{.queues = true, .across_processes = true, .across_hosts = true};
  traits.leaves_leases = table;
  auto const found = std::make_shared<store_warnings>();
  auto leases = make(std::move(*what), std::move(pending), found);
  return backend{.leases = std::move(leases),
                 .values = nullptr,
                 .traits = traits,
                 .display_name = name,
                 .warnings = found};
}

std::span<url_scheme const> v0::postgres_schemes() {
  static constexpr url_scheme schemes[] = {
      {"postgres", open_postgres, examine_postgres},
      {"postgresql", open_postgres, examine_postgres},
  };
  return schemes;
}

}  // namespace herdlock
