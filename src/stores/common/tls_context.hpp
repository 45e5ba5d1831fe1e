// A context for TLS, made of what a store's URL says.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <string>

#include "stores/common/tls_settings.hpp"

namespace herdlock::stores {

/// Also made, empty, for connections without TLS. It verifies the authority; whose certificate it
/// is, the connection asks. errc::invalid_url names the file of the URL that cannot be read.
result<boost::asio::ssl::context> make_tls(tls_settings const& how,
                                           std::string const& display_name);

}  // namespace herdlock::stores
