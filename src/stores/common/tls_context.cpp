#include "stores/common/tls_context.hpp"

#include <openssl/ssl.h>

#include <boost/asio/ssl/error.hpp>

namespace herdlock::stores {
namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

failure unusable(std::string const& what, std::string const& why) {
  return make_failure(errc::invalid_url, what + ": " + why);
}

failure load_authority(ssl::context& into, tls_settings const& how) {
  error_code ec;
  if (how.authority_file.empty()) {
    into.set_default_verify_paths(ec);
    if (!ec) return {};
    return unusable("the system's certificate authorities cannot be read", ec.message());
  }
  into.load_verify_file(how.authority_file, ec);
  if (!ec) return {};
  return unusable("cafile " + in_quotes(how.authority_file) + " cannot be read", ec.message());
}

// A key of another kind is put beside the certificate without an error: a question shows that the
// two do not belong together. OpenSSL's own error for it speaks of a missing certificate.
bool fits(ssl::context& made) { return SSL_CTX_check_private_key(made.native_handle()) == 1; }

bool says_other_pair(error_code ec) {
  return ec.category() == boost::asio::error::get_ssl_category() &&
         ERR_GET_LIB(static_cast<unsigned long>(ec.value())) == ERR_LIB_X509;
}

// Without the callback OpenSSL would ask for a pass phrase at the terminal, and the thread would
// wait there.
failure load_own(ssl::context& into, tls_settings const& how) {
  if (how.certificate_file.empty()) return {};
  std::string const cert = "cert " + in_quotes(how.certificate_file);
  std::string const key = "key " + in_quotes(how.key_file);
  auto const encrypted = std::make_shared<bool>(false);
  auto const no_answer = [encrypted](std::size_t, ssl::context::password_purpose) {
    *encrypted = true;
    return std::string();
  };
  error_code ec;
  into.set_password_callback(no_answer, ec);
  into.use_certificate_chain_file(how.certificate_file, ec);
  if (ec) return unusable(cert + " cannot be read", ec.message());
  into.use_private_key_file(how.key_file, ssl::context::pem, ec);
  if (ec && *encrypted) return unusable(key + " is encrypted", "give one without a pass phrase");
  if (says_other_pair(ec) || (!ec && !fits(into))) {
    return unusable(key + " does not fit " + cert, "give the two files of one pair");
  }
  if (ec) return unusable(key + " cannot be read", ec.message());
  return {};
}

}  // namespace

result<tls_context> make_tls(tls_settings const& how) {
  auto made = std::make_shared<ssl::context>(ssl::context::tls_client);
  // OpenSSL makes none, and gives no reason, once the program has ended it.
  if (!made->native_handle()) {
    return make_failure(errc::unavailable, "OpenSSL has ended: no connection with TLS can be made");
  }
  error_code ec;
  made->set_options(ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1, ec);
  if (auto why = load_authority(*made, how); why.code) return why;
  if (auto why = load_own(*made, how); why.code) return why;
  made->set_verify_mode(how.security == encryption::tls ? ssl::verify_peer : ssl::verify_none, ec);
  return made;
}

}  // namespace herdlock::stores
