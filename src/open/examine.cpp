#include <herdlock/examination.hpp>
#include <herdlock/url.hpp>

#include "open/schemes.hpp"

namespace herdlock {

result<examination> examine_store(std::string_view text) {
  auto url = store_url::parse(text);
  if (url.has_error()) return url.error();
  auto const kind = detail::find_scheme(*url);
  if (kind.has_error()) return kind.error();
  return kind->examine(std::move(*url));
}

}  // namespace herdlock
