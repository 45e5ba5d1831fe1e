#include "stores/postgres/postgres_store.hpp"

#include <herdlock/url_scheme.hpp>

#include "stores/postgres/examination.hpp"
#include "stores/postgres/session_store.hpp"
#include "stores/postgres/table_store.hpp"

namespace herdlock {

result<backend> open_postgres(store_url url, asio::any_io_executor executor) {
  auto what = postgres::take_settings(std::move(url));
  if (!what) return what.error();
  if (what->mode != postgres::lock_mode::table) {
    return postgres::open_sessions(std::move(*what), std::move(executor));
  }
  return postgres::open_table(std::move(*what), std::move(executor));
}

std::span<url_scheme const> v0::postgres_schemes() {
  static constexpr url_scheme schemes[] = {
      {"postgres", open_postgres, examine_postgres},
      {"postgresql", open_postgres, examine_postgres},
  };
  return schemes;
}

}  // namespace herdlock
