#include "stores/redis/hot/monitor_connection.hpp"

#include <algorithm>
#include <utility>

#include "resp/writer.hpp"
#include "stores/common/numbers.hpp"
#include "stores/redis/client/server_errors.hpp"
#include "stores/redis/hot/survey_parts.hpp"

namespace herdlock::redis {

using boost::system::error_code;

monitor_connection::monitor_connection(asio::any_io_executor const& executor, settings const& how,
                                       monitor_listener& told)
    : how_(how),
      stream_(std::make_shared<byte_stream>(executor, choose_tls(how))),
      timer_(executor),
      told_(&told) {}

void monitor_connection::start() {
  connector_ = std::make_shared<connector>(
      how_, stream_, [weak = weak_from_this()](failure const& why, failure_kind) {
        if (auto const self = weak.lock()) self->on_connected(why);
      });
  connector_->start();
}

void monitor_connection::stop() {
  told_ = nullptr;
  if (connector_) connector_->cancel();
  timer_.cancel();
  stream_->close();
}

// It logs in as all connections do, but speaks RESP2, whose lines these are. All databases are told
// of, so none is selected.
void monitor_connection::on_connected(failure const& why) {
  if (!told_) return;
  if (why.code) return fail(why);
  if (!how_.password.empty()) {
    std::string_view const user = how_.user.empty() ? "default" : std::string_view(how_.user);
    std::string_view const words[] = {"HELLO", "2", "AUTH", user, how_.password};
    resp::write_request(greeting_, words);
    login_parts_ = 1;
  }
  std::string_view const words[] = {"MONITOR"};
  resp::write_request(greeting_, words);
  ++greetings_;
  // What becomes of it, the reader sees.
  stream_->write(asio::buffer(greeting_), [self = shared_from_this()](error_code, std::size_t) {});
  timer_.expires_after(2 * how_.timeout);
  timer_.async_wait([self = shared_from_this()](error_code ec) {
    if (ec || self->greetings_ == 0) return;
    self->fail(self->how_.failed(errc::timed_out, self->how_.address() + " does not answer"));
  });
  read();
}

void monitor_connection::read() {
  stream_->read_some(
      asio::buffer(arrived_),
      [self = shared_from_this()](error_code ec, std::size_t bytes) { self->on_read(ec, bytes); });
}

void monitor_connection::on_read(error_code ec, std::size_t bytes) {
  if (!told_) return;
  bytes_ += bytes;
  lines_.add({arrived_.data(), bytes},
             [this](std::string_view text, line_part is) { on_text(text, is); });
  if (!told_) return;
  if (!ec) return read();
  auto const reason = ec == asio::error::eof ? "closed by the server" : ec.message();
  fail(how_.failed(errc::unavailable,
                   "the connection to " + how_.address() + " was lost (" + reason + ")"));
}

// Line by line: what a server tells of itself is a list, with lists in it.
void monitor_connection::on_login(std::string_view text) {
  bool const is_plain = std::exchange(text_follows_, false) || text.empty();
  char const kind = is_plain ? ' ' : text.front();
  if (kind == '-') return fail(refused_greeting(text.substr(1), how_.display_name));
  if (kind == '$' && text != "$-1") {
    text_follows_ = true;
    return;
  }
  --login_parts_;
  if (kind == '*') login_parts_ += std::max(whole_number<int>(text.substr(1)).value_or(0), 0);
}

void monitor_connection::on_text(std::string_view text, line_part is) {
  if (!told_) return;
  if (login_parts_ > 0) return on_login(text);
  if (text.empty()) return;
  bool const is_error = text.front() == '-';
  text.remove_prefix(1);
  if (is_error) {
    return fail(refused(
        how_, text,
        {.name = "MONITOR", .right = "+monitor", .instead = "ask another source: clients, lfu"}));
  }
  if (greetings_ == 0) return told_->on_line(text, is);
  if (--greetings_ == 0) told_->on_monitoring();
}

void monitor_connection::fail(failure why) {
  auto* const told = std::exchange(told_, nullptr);
  stop();
  if (told) told->on_failed(std::move(why));
}

}  // namespace herdlock::redis
