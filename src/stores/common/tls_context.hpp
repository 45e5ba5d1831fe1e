// A context for TLS, made of the files that a store's URL names.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "stores/common/tls_settings.hpp"

namespace herdlock::stores {

/// Nobody changes it once it is made, so connections of any thread may share it.
using tls_context = std::shared_ptr<boost::asio::ssl::context>;

/// Makes a context of the files that are there now, and asks nobody for a pass phrase. The context
/// verifies the authority; the connection checks the server's name. errc::invalid_url: the message
/// names the file that cannot be used, and why, but not the store.
result<tls_context> make_tls(tls_settings const& how);

}  // namespace herdlock::stores
