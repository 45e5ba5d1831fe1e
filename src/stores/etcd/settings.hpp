// What a store URL says about an etcd cluster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <herdlock/backend.hpp>
#include <herdlock/types.hpp>
#include <herdlock/url.hpp>
#include "stores/common/tls_settings.hpp"

namespace herdlock::etcd {

struct settings {
  std::string display_name;  ///< the URL without its password
  std::vector<stores::server_address> members;
  std::string user;
  std::string password;
  stores::tls_settings tls;
  milliseconds timeout{5000};
  std::size_t connections = 16;  ///< for exchanges; the watches share one more
  std::size_t max_pending = 65536;
  std::shared_ptr<store_warnings> warnings;  ///< null: nobody reads them
};

/// errc::invalid_url for anything that is not understood.
result<settings> parse_settings(store_url url);

}  // namespace herdlock::etcd
