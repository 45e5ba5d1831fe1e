// What a store's URL says about TLS, and the context made of it.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <string>

#include <herdlock/error.hpp>
#include <herdlock/url.hpp>

namespace herdlock::stores {

enum class encryption { none, tls, tls_unverified };

struct tls_settings {
  encryption security = encryption::none;
  std::string authority_file;  ///< empty: the system's authorities
  std::string certificate_file;
  std::string key_file;
};

/// The options `cafile`, `cert`, `key` and `verify` (`full` or `none`) of a URL whose scheme means
/// TLS. errc::invalid_url for anything that is not understood.
result<tls_settings> take_tls(store_url& url, std::string const& display_name);

/// Also made, empty, for connections without TLS. It verifies the authority; whose certificate it
/// is, the connection asks. errc::invalid_url names the file of the URL that cannot be read.
result<boost::asio::ssl::context> make_tls(tls_settings const& how,
                                           std::string const& display_name);

}  // namespace herdlock::stores
