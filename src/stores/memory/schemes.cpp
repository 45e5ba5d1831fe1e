#include <herdlock/backend.hpp>
#include <herdlock/examination.hpp>
#include <herdlock/url.hpp>
#include <herdlock/url_scheme.hpp>

#include "stores/memory/examination.hpp"
#include "stores/memory/memory_store.hpp"

namespace herdlock {
inline namespace v0 {

std::span<url_scheme const> memory_schemes() {
  static constexpr url_scheme schemes[] = {
      {"memory", open_memory, examine_memory},
  };
  return schemes;
}

}  // namespace v0
}  // namespace herdlock
