#include "stores/redis/client/connector.hpp"

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>

namespace herdlock::redis {
namespace {

using boost::system::error_code;

constexpr clock::duration min_share = milliseconds{50};  // a round trip to another country
constexpr std::size_t max_path_bytes = 107;              // sun_path less its NUL

}  // namespace

stores::tls_choice choose_tls(settings const& how) {
  return how.tls.source ? how.tls.source->choose() : stores::tls_choice{};
}

// What belongs to a stage that is over, because it took too long or was cancelled, says nothing.
template <class F>
auto connector::in_this_stage(F then) {
  return [self = shared_from_this(), stage = stage_, then](error_code ec) {
    if (self->stage_ == stage) then(*self, ec);
  };
}

template <class F>
void connector::limit(clock::duration most, F then) {
  timer_.expires_after(std::chrono::duration_cast<std::chrono::nanoseconds>(most));
  timer_.async_wait(in_this_stage([then](connector& self, error_code ec) {
    if (!ec) then(self);
  }));
}

void connector::start() {
  if (!how_.unix_path.empty()) return connect_to_path();
  look_up_ = stores::look_up::start(stream_->executor(), how_.host, clock::now() + how_.timeout,
                                    [weak = weak_from_this()](stores::found_addresses found) {
                                      if (auto const self = weak.lock()) self->on_found(found);
                                    });
}

void connector::cancel() {
  ++stage_;
  done_ = nullptr;
  if (look_up_) look_up_->cancel();
  timer_.cancel();
}

void connector::connect_to_path() {
  connect_until_ = clock::now() + how_.timeout;
  bool const fits = how_.unix_path.size() <= max_path_bytes;
  if (fits) endpoints_.emplace_back(asio::local::stream_protocol::endpoint(how_.unix_path));
  asio::post(stream_->executor(), [next = in_this_stage([](connector& self, error_code) {
                                     if (!self.endpoints_.empty()) return self.connect_to_next();
                                     self.on_unreachable(asio::error::name_too_long);
                                   })] { next({}); });
}

void connector::on_found(stores::found_addresses const& found) {
  for (auto const& address : found.all) {
    error_code ec;
    auto const parsed = asio::ip::make_address(address, ec);
    if (!ec) endpoints_.emplace_back(asio::ip::tcp::endpoint(parsed, how_.port));
  }
  if (endpoints_.empty()) {
    return complete(errc::unavailable,
                    "the host " + in_quotes(how_.host) + " is not found: " + found.error);
  }
  connect_until_ = clock::now() + how_.timeout;
  connect_to_next();
}

// The time is shared, so that an address that swallows everything does not use it up.
void connector::connect_to_next() {
  auto const left = connect_until_ - clock::now();
  auto const to = endpoints_.front();
  ++stage_;
  limit(std::max(left / static_cast<int>(endpoints_.size()), min_share),
        [](connector& self) { self.on_connect(asio::error::timed_out); });
  endpoints_.erase(endpoints_.begin());
  stream_->connect(to, in_this_stage([](connector& self, error_code ec) { self.on_connect(ec); }));
}

void connector::on_connect(error_code ec) {
  ++stage_;
  if (ec && endpoints_.empty()) return on_unreachable(ec);
  if (ec) return connect_to_next();
  stream_->tune();
  if (how_.tls.security == stores::encryption::none) return complete({}, {});
  limit(how_.timeout, [](connector& self) { self.on_secured(asio::error::timed_out); });
  stream_->handshake(how_.host,
                     in_this_stage([](connector& self, error_code bad) { self.on_secured(bad); }));
}

void connector::on_unreachable(error_code ec) {
  std::string const where = how_.unix_path.empty() ? " there?" : "?";
  complete(errc::unavailable, "cannot connect to " + how_.address() + ": " + ec.message() +
                                  "; is the server running" + where);
}

void connector::on_secured(error_code ec) {
  ++stage_;
  if (!ec) {
    how_.tls.source->worked_with(how_.address());
    return complete({}, {});
  }
  long const verdict = stream_->verification();
  if (how_.tls.security == stores::encryption::tls && verdict != X509_V_OK) {
    return on_untrusted(verdict);
  }
  complete(errc::unavailable, "the TLS handshake with " + how_.address() + " failed: " +
                                  ec.message() + "; does the server speak TLS on this port?");
}

// Where a server was trusted before, the servers have other certificates now, or we have another
// cafile: whoever replaces one replaces the other soon. This server may be one that is met only
// now.
void connector::on_untrusted(long verdict) {
  std::string const what = "the certificate of " + how_.address() + " is not trusted";
  std::string const why = stores::words_for(verdict, how_.host);
  if (!how_.tls.source->has_worked_with(how_.address(), stores::kind_of(verdict))) {
    return complete(
        errc::access_denied,
        what + ": " + why + "; give its authority with cafile=…, or the host name it was made for",
        failure_kind::refused);
  }
  auto const text = what + " now: " + why + stores::tls_source::way_out_of_distrust;
  how_.tls.source->warn(text);
  complete(errc::unavailable, text);
}

void connector::complete(errc code, std::string const& text, failure_kind kind) {
  auto const done = std::exchange(done_, nullptr);
  cancel();
  if (!done) return;
  if (text.empty()) return done({}, kind);
  done(how_.failed(code, text), kind);
}

}  // namespace herdlock::redis
