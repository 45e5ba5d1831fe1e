// The schemes of store URLs, and which store each one means.
#pragma once

#include <string_view>

#include <herdlock/examination.hpp>
#include <herdlock/store.hpp>
#include <herdlock/url.hpp>

namespace herdlock::detail {

/// What a store's folder offers; null: it was left out of this build.
struct store_kind {
  result<backend> (*open)(store_url, asio::any_io_executor) = nullptr;
  result<examination> (*examine)(store_url) = nullptr;
};

/// errc::not_built or errc::unknown_scheme, with what there is.
result<store_kind> find_scheme(store_url const& url);

}  // namespace herdlock::detail
