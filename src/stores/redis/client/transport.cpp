// HELLO, then commands out and replies in, until the first thing that goes wrong.
#include "stores/redis/client/transport.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "stores/redis/client/awaited_replies.hpp"
#include "stores/redis/client/connector.hpp"
#include "stores/redis/client/life_signs.hpp"
#include "stores/redis/client/outgoing_bytes.hpp"
#include "stores/redis/client/receive_buffer.hpp"
#include "stores/redis/client/server_errors.hpp"

namespace herdlock::redis {
namespace {

using boost::system::error_code;
using asker = awaited_replies::asker;

constexpr milliseconds min_health{50};
constexpr milliseconds max_health{5000};
constexpr std::string_view health_word = "herdlock";

milliseconds health_interval(settings const& how) {
  return std::clamp(how.timeout / 2, min_health, max_health);
}

failure lost_connection(settings const& how, std::string const& why = {}) {
  return how.failed(errc::unavailable, "the connection to " + how.address() + " was lost" + why);
}

class attempt final : public transport, public std::enable_shared_from_this<attempt> {
 public:
  attempt(asio::any_io_executor const& executor, settings const& how, stores::tls_choice tls,
          std::weak_ptr<transport_listener> owner)
      : how_(how),
        stream_(std::make_shared<byte_stream>(executor, std::move(tls))),
        timer_(executor),
        owner_(std::move(owner)) {}

  void start() {
    connector_ = std::make_shared<connector>(
        how_, stream_, [weak = weak_from_this()](failure why, failure_kind kind) {
          if (auto const self = weak.lock()) self->on_connected(std::move(why), kind);
        });
    connector_->start();
  }

  void send(batch_ptr what) override {
    outgoing_.add(what->bytes());
    awaited_.sent(std::move(what));
    write();
  }

  bool may_send() const override { return phase_ == phase::running && !outgoing_.enough(); }

  void subscription(std::string_view verb, std::string_view channel) override {
    outgoing_.add_request({verb, channel});
    awaited_.sent(asker::subscription, 1);
    write();
  }

  void stop() override {
    if (std::exchange(phase_, phase::stopped) == phase::running) shut();
  }

  void forget_unsent() override { stream_->forget_unsent(); }
  std::uint64_t reads() const override { return signs_.reads(); }

 private:
  enum class phase {
    running,
    ended,    // by itself: the listener is told when its batches have come back
    stopped,  // by the listener
  };
  enum class telling { nothing, now, later };  // later: a further turn is posted

  void on_connected(failure why, failure_kind kind) {
    if (why.code) return end(std::move(why), kind);
    greet();
    write();
    read();
    timer_.expires_after(life_signs::silent_checks * health_interval(how_));
    timer_.async_wait([self = shared_from_this()](error_code ec) {
      if (!ec && self->greetings_ > 0) self->on_hang();
    });
  }

  void greet() {
    std::string_view const user = how_.user.empty() ? "default" : std::string_view(how_.user);
    if (how_.password.empty()) {
      outgoing_.add_request({"HELLO", "3", "SETNAME", "herdlock"});
    } else {
      outgoing_.add_request({"HELLO", "3", "AUTH", user, how_.password, "SETNAME", "herdlock"});
    }
    greetings_ = 1;
    if (how_.database != 0) {
      outgoing_.add_request({"SELECT", std::to_string(how_.database)});
      ++greetings_;
    }
    awaited_.sent(asker::greeting, greetings_);
  }

  void on_greeting(reply const& answer) {
    if (answer.is_error()) {
      bool const selects = greetings_ == 1 && how_.database != 0;
      auto why = selects ? server_failure(answer.text(), how_.display_name)
                         : refused_greeting(answer.text(), how_.display_name);
      bool const passing = why == errc::unavailable;
      return end(std::move(why), passing ? failure_kind::temporary : failure_kind::refused);
    }
    if (--greetings_ > 0) return;
    stream_->forget_file_error();
    check_later();
    if (auto const owner = owner_.lock()) owner->on_ready(*this);
  }

  // ------------------------------------------------------------------------- out and in

  void write() {
    if (phase_ != phase::running) return;
    auto const bytes = outgoing_.next();
    if (bytes.empty()) return;
    stream_->write(asio::buffer(bytes), [self = shared_from_this()](error_code ec, std::size_t) {
      self->outgoing_.on_written();
      if (ec) {  // the reader ends the connection, behind what the server has said last
        bool const by_server =
            ec == asio::error::broken_pipe || ec == asio::error::connection_reset;
        self->write_problem_ = by_server ? "closed by the server" : ec.message();
        return self->stream_->stop_receiving();
      }
      if (self->phase_ != phase::running) return;
      if (auto const owner = self->owner_.lock()) owner->on_turn(*self);
      self->write();
    });
  }

  void read() {
    auto const room = arrived_.prepare();
    stream_->read_some(asio::buffer(room.data(), room.size()),
                       [self = shared_from_this()](error_code ec, std::size_t bytes) {
                         self->on_read(ec, bytes);
                       });
  }

  void on_read(error_code ec, std::size_t bytes) {
    if (!ec) arrived_.commit(bytes);  // also behind the end: give_back() tells it
    if (phase_ != phase::running) return;
    if (!ec) return take_turn();
    if (!write_problem_.empty()) return on_lost(write_problem_);
    on_lost(ec == asio::error::eof ? "closed by the server" : ec.message());
  }

  // What was read is told in the order of the wire, until the listener has enough for this turn of
  // the event loop. Nothing more is read before all is told.
  void take_turn() {
    signs_.on_read();  // who has much to tell is not waiting for the server
    bool enough = false;
    telling_ = telling::now;
    try {
      while (!enough && phase_ == phase::running && read_value()) enough = !tell();
    } catch (...) {  // from a handler: the others are told in a moment
      take_turn_later();
      throw;
    }
    telling_ = telling::nothing;
    if (phase_ != phase::running) return;
    if (!awaited_.problem().empty()) return on_lost("no reply of Redis: " + awaited_.problem());
    if (auto const owner = owner_.lock()) owner->on_turn(*this);
    if (phase_ != phase::running) return;
    if (enough) return take_turn_later();
    read();
  }

  void take_turn_later() {
    telling_ = telling::later;
    asio::post(stream_->executor(), [self = shared_from_this()] { self->take_turn(); });
  }

  // False when there is none in whole.
  bool read_value() {
    if (awaited_.complete()) return true;  // its handler has thrown
    auto const step = awaited_.read(arrived_.unread());
    arrived_.consume(step.consumed);
    arrived_.expect(step.missing);
    if (awaited_.complete()) signs_.on_value();
    return awaited_.complete();
  }

  // False when it is enough for this turn.
  bool tell() {
    auto const whose = awaited_.whose();
    if (whose == asker::commands) return tell_commands();
    awaited_.told();
    if (whose == asker::greeting) {
      on_greeting(awaited_.value());
    } else if (whose == asker::health_check) {
      reply const& answer = awaited_.value();
      signs_.on_answer();
      if (!answer.is_error() && answer.text() != health_word) on_out_of_step();
    } else {
      on_unasked(awaited_.value(), whose);
    }
    return true;
  }

  // When a handler throws it is not told yet: the listener knows who was.
  bool tell_commands() {
    auto const owner = owner_.lock();
    bool const more = !owner || owner->on_reply(*this, awaited_.asked(), awaited_.number());
    auto done = awaited_.told();
    if (done && owner) owner->on_batch(*this, std::move(done), nullptr);
    return more;
  }

  // Each command would be told its neighbour's answer.
  void on_out_of_step() {
    arrived_.consume(arrived_.unread().size());
    on_lost("its replies do not fit what was asked");
  }

  // An error that nobody asked for is the server's last word.
  void on_unasked(reply const& message, asker whose) {
    bool const last_word = message.is_error() && whose == asker::nobody;
    if (last_word && !why_.code) why_ = server_failure(message.text(), how_.display_name);
    if (!last_word && whose == asker::nobody && !awaited_.is_push()) return on_out_of_step();
    if (auto const owner = owner_.lock()) owner->on_push(*this, message);
  }

  // ---------------------------------------------------------------------- health and end

  void check_later() {
    timer_.expires_after(health_interval(how_));
    timer_.async_wait([self = shared_from_this()](error_code ec) {
      if (!ec && self->phase_ == phase::running) self->check();
    });
  }

  void check() {
    auto const found = signs_.check(telling_ == telling::later ? life_signs::untold::some
                                                               : life_signs::untold::nothing);
    if (found == life_signs::verdict::hangs) return on_hang();
    if (found == life_signs::verdict::ask) {
      outgoing_.add_request({"PING", health_word});
      awaited_.sent(asker::health_check, 1);
      write();
    }
    check_later();
  }

  void on_hang() {
    forget_unsent();
    end(how_.failed(errc::unavailable,
                    "the server at " + how_.address() + " hangs: it does not answer"));
  }

  void on_lost(std::string const& reason) { end(lost_connection(how_, " (" + reason + ")")); }

  // The first reason is the cause; what follows are its consequences.
  void end(failure why, failure_kind kind = failure_kind::temporary) {
    if (phase_ != phase::running) return;
    phase_ = phase::ended;
    if (!why_.code) why_ = std::move(why);
    // The server may refuse the older files that were used: their certificate may have expired.
    if (!stream_->file_error().empty()) why_.message += "; " + stream_->file_error();
    kind_ = kind;
    shut();
  }

  void shut() {
    if (connector_) connector_->cancel();
    timer_.cancel();
    stream_->close();
    give_back_later();
  }

  void give_back_later() {
    asio::post(stream_->executor(), [self = shared_from_this()] { self->give_back(); });
  }

  // What has arrived was answered; the rest never will be.
  void give_back() {
    auto const owner = owner_.lock();
    if (!owner) return;
    if (telling_ == telling::now) return give_back_later();  // a handler runs the event loop
    if (!why_.code) why_ = lost_connection(how_);
    try {
      while (read_value()) {
        auto const whose = awaited_.whose();
        if (whose == asker::commands) {
          tell_commands();
        } else {
          awaited_.told();
          // A reply is worth only what the pushes in front of it have left of it.
          if (whose == asker::nobody && awaited_.is_push()) owner->on_push(*this, awaited_.value());
        }
      }
      while (auto unanswered = awaited_.take_unanswered()) {
        owner->on_batch(*this, std::move(unanswered), &why_);
      }
      if (std::exchange(phase_, phase::stopped) == phase::ended) {
        owner->on_ended(*this, why_, kind_);
      }
    } catch (...) {  // from a handler
      give_back_later();
      throw;
    }
  }

  settings how_;
  std::shared_ptr<byte_stream> stream_;
  std::shared_ptr<connector> connector_;
  asio::steady_timer timer_;  // of the greeting, then of the health checks
  std::weak_ptr<transport_listener> owner_;
  std::size_t greetings_ = 0;  // that are not answered
  outgoing_bytes outgoing_;
  awaited_replies awaited_;
  receive_buffer arrived_;
  life_signs signs_;
  std::string write_problem_;
  telling telling_ = telling::nothing;
  failure why_;
  failure_kind kind_ = failure_kind::temporary;
  phase phase_ = phase::running;
};

}  // namespace

std::shared_ptr<transport> transport::start(asio::any_io_executor const& executor,
                                            settings const& how,
                                            std::weak_ptr<transport_listener> owner) {
  auto one = std::make_shared<attempt>(executor, how, choose_tls(how), std::move(owner));
  one->start();
  return one;
}

}  // namespace herdlock::redis
