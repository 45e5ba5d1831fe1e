// What a store URL says of the file.
#pragma once

#include <cstddef>

#include <herdlock/error.hpp>
#include <herdlock/url.hpp>
#include "stores/sqlite/connection.hpp"

namespace herdlock::sqlite {

struct settings {
  file_settings file;
  std::size_t max_pending = 65536;
};

/// errc::invalid_url for what means nothing.
result<settings> take_settings(store_url& url);

}  // namespace herdlock::sqlite
