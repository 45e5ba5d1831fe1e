#include "stores/common/tls_settings.hpp"

namespace herdlock::stores {
namespace {

namespace ssl = boost::asio::ssl;

failure bad_url(std::string const& display_name, std::string const& why) {
  return make_failure(errc::invalid_url, "store URL " + display_name + ": " + why);
}

}  // namespace

result<tls_settings> take_tls(store_url& url, std::string const& display_name) {
  tls_settings s{encryption::tls, url.take_text("cafile", ""), url.take_text("cert", ""),
                 url.take_text("key", "")};
  std::string const verify = url.take_text("verify", "full");
  if (verify == "none") s.security = encryption::tls_unverified;
  if (verify != "none" && verify != "full") {
    return bad_url(display_name,
                   "verify=" + in_quotes(verify) + " is unknown; write full (default) or none");
  }
  if (s.certificate_file.empty() != s.key_file.empty()) {
    return bad_url(display_name, "cert and key go together: give both or none");
  }
  return s;
}

result<ssl::context> make_tls(tls_settings const& how, std::string const& display_name) {
  ssl::context tls(ssl::context::tls_client);
  boost::system::error_code ec;
  tls.set_options(ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1, ec);
  if (how.security == encryption::none) return tls;
  auto bad = [&](std::string const& what) {
    return bad_url(display_name, what + ": " + ec.message());
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
