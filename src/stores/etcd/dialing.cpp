#include "stores/etcd/dialing.hpp"

#include <openssl/x509_vfy.h>

#include <boost/asio/ssl/error.hpp>
#include <boost/beast/http/error.hpp>

#include "stores/common/tls_source.hpp"

namespace herdlock::etcd {

dialed dial(asio::any_io_executor const& executor, settings const& how, std::size_t member) {
  stores::tls_choice tls;
  if (how.tls.source) tls = how.tls.source->choose();
  return {make_connection(executor, how, how.members[member], tls.context),
          std::move(tls.file_error)};
}

void has_answered(settings const& how, std::size_t member) {
  if (how.tls.source) how.tls.source->worked_with(how.members[member].text());
}

namespace {

// What came was no HTTP, or nothing came before the end.
bool is_no_http(error_code ec) {
  return ec.category() == make_error_code(boost::beast::http::error::end_of_stream).category();
}

bool is_distrusted(settings const& how, http_answer const& answer) {
  return how.tls.security == stores::encryption::tls && answer.verdict != X509_V_OK;
}

}  // namespace

// What TLS refuses at first it refuses the next time, too. Where it has worked before, one side is
// being given other certificates, and the next time may be better.
failure failure_to_reach(settings const& how, std::size_t member, http_answer const& answer) {
  auto const& to = how.members[member];
  std::string const address = to.text();
  std::string what = address + " (" + answer.ec.message() + ")";
  if (!answer.by_etcd && is_no_http(answer.ec)) {
    what +=
        "; what answers there is perhaps no etcd: etcd:// is for the port of its clients, "
        "mostly 2379 (a Redis has redis://, for one)";
  }
  if (answer.ec.category() != asio::error::get_ssl_category())
    return make_failure(errc::unavailable, what);
  auto kind = stores::distrust::authority;
  std::string way_out = "; check cafile, cert and key";
  if (is_distrusted(how, answer)) {
    kind = stores::kind_of(answer.verdict);
    what = address + " (" + answer.ec.message() +
           "): its certificate is not trusted: " + stores::words_for(answer.verdict, to.host);
  }
  if (kind == stores::distrust::name) way_out += ", and the host name it was made for";
  bool const passes = how.tls.source->has_worked_with(address, kind);
  std::string const file_error = answer.file_error.empty() ? "" : "; " + answer.file_error;
  if (!passes) return make_failure(errc::access_denied, what + way_out + file_error);
  auto why = make_failure(errc::unavailable,
                          what +
                              "; it worked before, and is tried again with the files that are "
                              "there then: check cafile, cert and key" +
                              file_error);
  how.tls.source->warn(why.message);
  return why;
}

}  // namespace herdlock::etcd
