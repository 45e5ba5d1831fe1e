// The settings of TLS in a store's URL.
#pragma once

#include <memory>
#include <string>

#include "stores/common/url_options.hpp"

namespace herdlock::stores {

enum class encryption { none, tls, tls_unverified };

class tls_source;

struct tls_settings {
  encryption security = encryption::none;
  std::string authority_file;  ///< empty: the system's authorities
  std::string certificate_file;
  std::string key_file;
  /// All connections of a handle share this source of contexts; who opens the store makes it. Null
  /// without TLS, and where the client library reads the files itself.
  std::shared_ptr<tls_source> source{};
};

inline constexpr url_option tls_options[] = {
    {"cafile", option_kind::text, "the system's", "a file", "the certificate authority"},
    {"cert", option_kind::text, "", "a file", "our own certificate; with key"},
    {"key", option_kind::text, "", "a file", "its private key; with cert"},
    {"verify", option_kind::choice, "full", "full, none",
     "none: the server's certificate is not checked"},
};

/// The settings of a URL that means TLS.
inline tls_settings take_tls(option_reader& from) {
  bool const unverified = from.chosen("verify") == 1;
  tls_settings taken{unverified ? encryption::tls_unverified : encryption::tls, from.text("cafile"),
                     from.text("cert"), from.text("key")};
  if (taken.certificate_file.empty() != taken.key_file.empty()) {
    from.refuse("cert and key go together: give both or none");
  }
  return taken;
}

}  // namespace herdlock::stores
