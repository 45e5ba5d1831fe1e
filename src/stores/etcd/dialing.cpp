#include "stores/etcd/dialing.hpp"

#include <boost/asio/ssl/error.hpp>

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

// What TLS refuses at first it refuses the next time, too. Where it has worked before, one side is
// being given other certificates, and the next time may be better.
failure failure_to_reach(settings const& how, std::size_t member, http_answer const& answer) {
  std::string const address = how.members[member].text();
  std::string const what = address + " (" + answer.ec.message() + ")";
  if (answer.ec.category() != asio::error::get_ssl_category())
    return make_failure(errc::unavailable, what);
  bool const passes = how.tls.source->has_worked_with(address);
  std::string const file_error = answer.file_error.empty() ? "" : "; " + answer.file_error;
  if (!passes) {
    return make_failure(errc::access_denied, what + "; check cafile, cert and key" + file_error);
  }
  auto why = make_failure(errc::unavailable,
                          what +
                              "; it worked before, and is tried again with the files that are "
                              "there then: check cafile, cert and key" +
                              file_error);
  how.tls.source->warn(why.message);
  return why;
}

}  // namespace herdlock::etcd
