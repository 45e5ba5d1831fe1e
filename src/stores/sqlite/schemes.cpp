#include <herdlock/backend.hpp>
#include <herdlock/examination.hpp>
#include <herdlock/url.hpp>
#include <herdlock/url_scheme.hpp>

#include "stores/sqlite/examination.hpp"
#include "stores/sqlite/sqlite_store.hpp"

namespace herdlock {
inline namespace v0 {

std::span<url_scheme const> sqlite_schemes() {
  static constexpr url_scheme schemes[] = {
      {"sqlite", open_sqlite, examine_sqlite},
  };
  return schemes;
}

}  // namespace v0
}  // namespace herdlock
