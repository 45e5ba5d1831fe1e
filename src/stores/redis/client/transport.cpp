// The only source that sees Boost.Redis (whose own are compiled here too).
// What 1.88 needs from us: async_run ends when the first connect fails, and its own reconnecting
// is not to be relied on, so a connection object serves one attempt and reconnecting is off. It
// has no signal for "ready" and hides the text of a refused HELLO; its logger hook shows both.
#include "stores/redis/client/transport.hpp"

#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/redis/connection.hpp>
#include <boost/redis/src.hpp>

#include "stores/common/close_on_exec.hpp"
#include "stores/common/look_up.hpp"
#include "stores/common/tls_context.hpp"
#include "stores/redis/client/failed_transport.hpp"
#include "stores/redis/client/server_errors.hpp"
#include "stores/redis/client/unix_bridge.hpp"
#include "stores/redis/client/wire_nodes.hpp"

namespace herdlock::redis {
namespace {

namespace client = boost::redis;
namespace ssl = asio::ssl;
using asio::ip::tcp;
using boost::system::error_code;
using wire_connection = client::basic_connection<asio::any_io_executor>;

constexpr milliseconds min_health{50};
constexpr milliseconds max_health{5000};
constexpr clock::duration min_share = milliseconds{50};  // a round trip to another country

class wire_batch final : public batch {
 public:
  client::request request;

  void reset() override {
    request.clear();
    forget_commands();
  }

  void prepare_replies() {
    if (replies.size() < commands.size()) replies.resize(commands.size());
    for (std::size_t i = 0; i < commands.size(); ++i) replies[i].clear();
  }

 private:
  void push(std::span<std::string_view const> arguments) override {
    // push_range() leaves a command without arguments out.
    if (arguments.size() == 1) return request.push(arguments.front());
    request.push_range(arguments.front(), arguments.begin() + 1, arguments.end());
  }
};

// Found by argument-dependent lookup; small enough for std::function's own storage.
struct batch_adapter {
  wire_batch* into;
  std::size_t get_supported_response_size() const noexcept { return static_cast<std::size_t>(-1); }
  void operator()(std::size_t i, wire_node const& node, error_code&) {
    if (i < into->replies.size()) add_node(into->replies[i], node);
  }
};
batch_adapter boost_redis_adapt(wire_batch& into) noexcept { return {&into}; }

class attempt;

// Boost.Redis copies it into its operations, all of which end before the attempt does.
struct attempt_log {
  attempt* to;
  void on_resolve(error_code const&, tcp::resolver::results_type const&);
  void on_connect(error_code const& ec, tcp::endpoint const&);
  void on_ssl_handshake(error_code const& ec);
  void on_hello(error_code const& ec, client::generic_response const& answer);
  void on_write(error_code const&, std::string const&) {}
  void on_read(error_code const& ec, std::size_t);
  void set_prefix(std::string_view) {}
  void trace(std::string_view message);
  void trace(std::string_view, error_code const&) {}
};

client::config make_config(settings const& how) {
  client::config config;
  config.use_ssl = how.tls.security != stores::encryption::none;
  config.addr = {how.host, std::to_string(how.port)};
  config.username = how.user.empty() ? "default" : how.user;
  config.password = how.password;
  config.database_index = how.database;
  config.resolve_timeout = config.connect_timeout = config.ssl_handshake_timeout = how.timeout;
  config.clientname = config.health_check_id = "herdlock";
  config.health_check_interval = std::clamp(how.timeout / 2, min_health, max_health);
  config.reconnect_wait_interval = std::chrono::seconds::zero();  // the supervisor does it
  return config;
}

class attempt final : public transport, public std::enable_shared_from_this<attempt> {
 public:
  attempt(asio::any_io_executor const& executor, settings const& how, ssl::context tls,
          std::weak_ptr<transport_listener> owner)
      : executor_(executor),
        how_(how),
        config_(make_config(how)),
        connection_(executor, std::move(tls)),
        owner_(std::move(owner)) {}

  void start() {
    connection_.set_receive_response(pushes_);
    auto const self = weak_from_this();
    if (how_.unix_path.empty()) {
      look_up_ = stores::look_up::start(executor_, how_.host, clock::now() + how_.timeout,
                                        [self](stores::found_addresses found) {
                                          if (auto const here = self.lock()) here->on_found(found);
                                        });
      return;
    }
    auto is_ours = [self](tcp::endpoint const& peer) {
      auto const here = self.lock();
      error_code ec;
      return here && peer == here->socket().local_endpoint(ec) && !ec;
    };
    auto ready = [self](error_code ec, std::uint16_t port) {
      if (auto const here = self.lock()) here->on_bridge(ec, port);
    };
    bridge_ = unix_bridge::open(executor_, how_.unix_path, is_ours, ready);
  }

  void send(batch_ptr what) override {
    auto& wire = static_cast<wire_batch&>(*what);
    wire.prepare_replies();
    connection_.async_exec(wire.request, client::any_adapter(wire),
                           batch_done{shared_from_this(), std::move(what)});
  }

  void subscription(std::string_view verb, std::string_view channel) override {
    auto request = std::make_unique<client::request>();
    request->push(verb, channel);
    auto const& sent = *request;
    connection_.async_exec(
        sent, client::ignore,
        [self = shared_from_this(), kept = std::move(request)](error_code, std::size_t) {});
  }

  void stop() override {
    stopped_ = true;
    if (look_up_) look_up_->cancel();
    if (bridge_) bridge_->close();
    connection_.cancel();
  }

  void forget_unsent() override {
    error_code ignored;
    socket().set_option(asio::socket_base::linger(true, 0), ignored);
  }

  std::uint64_t reads() const override { return reads_; }

 private:
  friend struct attempt_log;

  struct batch_done {
    std::shared_ptr<attempt> self;
    batch_ptr what;
    void operator()(error_code ec, std::size_t) {
      auto const owner = self->owner_.lock();
      if (!owner) return;
      if (!ec) return owner->on_batch(*self, std::move(what), nullptr);
      failure const why = self->reason();
      owner->on_batch(*self, std::move(what), &why);
    }
  };

  asio::basic_stream_socket<tcp, asio::any_io_executor>& socket() {
    return connection_.next_layer().next_layer();
  }

  void on_bridge(error_code ec, std::uint16_t port) {
    if (stopped_) return;
    if (ec) {
      note(errc::unavailable, "cannot connect to " + how_.address() + ": " + ec.message() +
                                  "; is the server running?");
      return end();
    }
    config_.addr = {"127.0.0.1", std::to_string(port)};
    begin({config_.addr.host});
  }

  // Boost.Redis gets addresses only: its own look-up, in Asio's thread, would be waited for when
  // the executor's context ends.
  void on_found(stores::found_addresses& found) {
    if (stopped_) return;
    if (found.all.empty()) {
      note(errc::unavailable, "the host " + in_quotes(how_.host) + " is not found: " + found.error);
      return end();
    }
    begin(std::move(found.all));
  }

  void begin(std::vector<std::string> addresses) {
    addresses_ = std::move(addresses);
    connect_until_ = clock::now() + how_.timeout;
    set_server_name();
    receive();
    run();
  }

  // The time is shared, so that one that swallows everything does not use it up.
  void run() {
    auto const left = connect_until_ - clock::now();
    config_.connect_timeout = std::max(left / static_cast<int>(addresses_.size()), min_share);
    config_.addr.host = std::move(addresses_.front());
    addresses_.erase(addresses_.begin());
    connected_ = false;
    connection_.async_run(config_, attempt_log{this},
                          [self = shared_from_this()](error_code) { self->on_run_ended(); });
  }

  void on_run_ended() {
    if (connected_ || stopped_ || addresses_.empty()) return end();
    run();
  }

  void on_unreachable(error_code const& ec) {
    if (!addresses_.empty()) return;
    note(errc::unavailable, "cannot connect to " + how_.address() + ": " + ec.message() +
                                "; is the server running there?");
  }

  // Server Name Indication, for hosts that are names.
  void set_server_name() {
    if (how_.tls.security == stores::encryption::none) return;
    error_code ec;
    asio::ip::make_address(how_.host, ec);
    if (ec) SSL_set_tlsext_host_name(connection_.next_layer().native_handle(), how_.host.c_str());
  }

  void receive() {
    if (stopped_) return;
    connection_.async_receive([self = shared_from_this()](error_code ec, std::size_t) {
      if (!ec) self->on_receive();
    });
  }

  void on_receive() {
    if (pushes_.complete.empty()) return receive();
    reply const message = std::move(pushes_.complete.front());
    pushes_.complete.pop_front();
    // An error that nobody asked for is the server's last word, e.g. "max number of clients".
    if (message.is_error() && !why_.code) why_ = server_failure(message.text(), how_.display_name);
    if (stopped_) return;
    // In the end, also when the handler of a grant throws.
    std::unique_ptr<attempt, void (*)(attempt*)> const again(this, [](auto* a) { a->receive(); });
    if (auto const owner = owner_.lock()) owner->on_push(*this, message);
  }

  void end() {
    // Nothing that is left in its queue may wait for a connection that does not come back.
    connection_.cancel();
    if (bridge_) bridge_->close();
    if (std::exchange(stopped_, true)) return;
    if (auto const owner = owner_.lock()) owner->on_ended(*this, reason(), kind_);
  }

  failure reason() const {
    if (why_.code) return why_;
    auto const what = connected_ ? "the connection to " + how_.address() + " was lost"
                                 : "cannot connect to " + how_.address() + ": no answer";
    return make_failure(errc::unavailable, how_.display_name + ": " + what);
  }

  // The first reason is the cause; what follows are its consequences.
  void note(errc code, std::string const& text, failure_kind kind = failure_kind::temporary) {
    if (why_.code) return;
    why_ = make_failure(code, how_.display_name + ": " + text);
    kind_ = kind;
  }

  void on_connected() {
    error_code ignored;
    connected_ = true;
    stores::set_close_on_exec(socket());
    // stop() between the resolve's completion and this connect found nothing to close.
    if (stopped_) return static_cast<void>(socket().close(ignored));
    // A lone small command must not wait for the acknowledgement of the one before.
    socket().set_option(tcp::no_delay(true), ignored);
    socket().set_option(asio::socket_base::keep_alive(true), ignored);
  }

  void on_tls_failure(error_code const& ec) {
    long const verdict = SSL_get_verify_result(connection_.next_layer().native_handle());
    if (how_.tls.security == stores::encryption::tls && verdict != X509_V_OK) {
      return note(errc::access_denied,
                  "the certificate of " + how_.address() +
                      " is not trusted: " + X509_verify_cert_error_string(verdict) +
                      "; give its authority with cafile=…, or the host name it was made for",
                  failure_kind::refused);
    }
    note(errc::unavailable, "the TLS handshake with " + how_.address() + " failed: " +
                                ec.message() + "; does the server speak TLS on this port?");
  }

  void on_greeting(client::generic_response const& answer) {
    if (answer.has_error()) {
      auto const refusal = answer.error();
      std::string_view const line = refusal.diagnostic;
      why_ = line.starts_with("ERR unknown command")
                 ? make_failure(errc::not_supported, how_.display_name +
                                                         ": the server does not know HELLO; "
                                                         "herdlock needs Redis 6.2 or newer")
                 : server_failure(line, how_.display_name);
      if (!(why_ == errc::unavailable)) kind_ = failure_kind::refused;
      return;
    }
    asio::post(executor_, [self = shared_from_this()] {
      if (self->stopped_) return;
      if (auto const owner = self->owner_.lock()) owner->on_ready(*self);
    });
  }

  asio::any_io_executor executor_;
  settings how_;
  client::config config_;
  push_sink pushes_;
  wire_connection connection_;
  std::weak_ptr<transport_listener> owner_;
  std::shared_ptr<unix_bridge> bridge_;
  std::shared_ptr<stores::look_up> look_up_;
  std::vector<std::string> addresses_;  // that were not tried yet
  clock::time_point connect_until_;
  bool connected_ = false;  // to the last one that was tried
  failure why_;
  failure_kind kind_ = failure_kind::temporary;
  std::uint64_t reads_ = 0;
  bool stopped_ = false;
};

// The connection opens its sockets itself, when this has returned.
void attempt_log::on_resolve(error_code const&, tcp::resolver::results_type const&) {
  asio::post(to->executor_,
             [self = to->shared_from_this()] { stores::set_close_on_exec(self->socket()); });
}

void attempt_log::on_connect(error_code const& ec, tcp::endpoint const&) {
  if (ec) {
    to->on_unreachable(ec);
  } else {
    to->on_connected();
  }
}

void attempt_log::on_ssl_handshake(error_code const& ec) {
  if (ec) to->on_tls_failure(ec);
}

void attempt_log::on_hello(error_code const& ec, client::generic_response const& answer) {
  if (!ec) to->on_greeting(answer);
}

void attempt_log::on_read(error_code const& ec, std::size_t) {
  if (!ec) {
    ++to->reads_;
    return;
  }
  if (ec == asio::error::operation_aborted) return;
  to->note(errc::unavailable, "the connection to " + to->how_.address() + " was lost (" +
                                  (ec == asio::error::eof ? "closed by the server" : ec.message()) +
                                  ")");
  // In a process that was stopped for a while the health check's timer and this error are due in
  // the same moment. It then sends its next PING after the run was told to end, and async_run waits
  // for the PONG for ever.
  asio::post(to->executor_, [self = to->shared_from_this()] { self->connection_.cancel(); });
}

void attempt_log::trace(std::string_view message) {
  if (message.find("pong timeout") == std::string_view::npos) return;
  to->note(errc::unavailable, "the server at " + to->how_.address() + " hangs: it does not answer");
  to->forget_unsent();
}

}  // namespace

std::shared_ptr<transport> transport::start(asio::any_io_executor const& executor,
                                            settings const& how,
                                            std::weak_ptr<transport_listener> owner) {
  auto tls = stores::make_tls(how.tls, how.display_name);
  if (tls.has_error()) {
    auto none = std::make_shared<failed_transport>();
    asio::post(executor, [none, owner = std::move(owner), why = tls.error()] {
      if (auto const to = owner.lock()) to->on_ended(*none, why, failure_kind::refused);
    });
    return none;
  }
  if (how.tls.security == stores::encryption::tls)
    tls->set_verify_callback(ssl::host_name_verification(how.host));
  auto one = std::make_shared<attempt>(executor, how, std::move(*tls), std::move(owner));
  one->start();
  return one;
}

batch_ptr make_batch() { return std::make_unique<wire_batch>(); }

}  // namespace herdlock::redis
