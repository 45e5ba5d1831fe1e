#include "stores/common/tls_context.hpp"

namespace herdlock::stores {

namespace ssl = boost::asio::ssl;

result<ssl::context> make_tls(tls_settings const& how, std::string const& display_name) {
  ssl::context tls(ssl::context::tls_client);
  boost::system::error_code ec;
  tls.set_options(ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1, ec);
  if (how.security == encryption::none) return tls;
  auto bad = [&](std::string const& what) {
    return make_failure(errc::invalid_url,
                        "store URL " + display_name + ": " + what + ": " + ec.message());
  };
  if (how.authority_file.empty()) {
    tls.set_default_verify_paths(ec);
    if (ec) return bad("the system's certificate authorities cannot be read");
  } else if (tls.load_verify_file(how.authority_file, ec); ec) {
    return bad("cafile " + in_quotes(how.authority_file) + " cannot be read");
  }
  if (!how.certificate_file.empty()) {
    tls.use_certificate_chain_file(how.certificate_file, ec);
    if (ec) return bad("cert " + in_quotes(how.certificate_file) + " cannot be read");
    tls.use_private_key_file(how.key_file, ssl::context::pem, ec);
    if (ec) return bad("key " + in_quotes(how.key_file) + " cannot be read");
  }
  tls.set_verify_mode(how.security == encryption::tls ? ssl::verify_peer : ssl::verify_none, ec);
  return tls;
}

}  // namespace herdlock::stores
