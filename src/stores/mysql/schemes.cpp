#include <herdlock/backend.hpp>
#include <herdlock/examination.hpp>
#include <herdlock/url.hpp>
#include <herdlock/url_scheme.hpp>

#include "stores/mysql/examination.hpp"
#include "stores/mysql/mysql_store.hpp"

namespace herdlock {
inline namespace v0 {

std::span<url_scheme const> mysql_schemes() {
  static constexpr url_scheme schemes[] = {
      {"mysql", open_mysql, examine_mysql},
      {"mariadb", open_mysql, examine_mysql},
  };
  return schemes;
}

}  // namespace v0
}  // namespace herdlock
