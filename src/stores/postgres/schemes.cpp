#include <herdlock/backend.hpp>
#include <herdlock/examination.hpp>
#include <herdlock/url.hpp>
#include <herdlock/url_scheme.hpp>

#include "stores/postgres/examination.hpp"
#include "stores/postgres/postgres_store.hpp"

namespace herdlock {
inline namespace v0 {

std::span<url_scheme const> postgres_schemes() {
  static constexpr url_scheme schemes[] = {
      {"postgres", open_postgres, examine_postgres},
      {"postgresql", open_postgres, examine_postgres},
  };
  return schemes;
}

}  // namespace v0
}  // namespace herdlock
