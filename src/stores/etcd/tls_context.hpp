// What a TLS connection needs to know: authorities, our own certificate, what to verify.
#pragma once

#include <boost/asio/ssl/context.hpp>

#include <herdlock/error.hpp>
#include "stores/etcd/settings.hpp"

namespace herdlock::etcd {

/// Also made, empty, for connections without TLS. errc::invalid_url names the file of the URL that
/// cannot be read.
result<boost::asio::ssl::context> make_tls(settings const& how);

}  // namespace herdlock::etcd
