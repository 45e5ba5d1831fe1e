// What a TLS connection needs to know: authorities, our own certificate, what to verify.
#pragma once

#include <boost/asio/ssl.hpp>

#include <herdlock/error.hpp>
#include "stores/redis/settings.hpp"

namespace herdlock::redis {

/// Also made, empty, for connections without TLS. errc::invalid_url names the file of the URL that
/// cannot be read.
result<boost::asio::ssl::context> make_tls(settings const& how);

}  // namespace herdlock::redis
