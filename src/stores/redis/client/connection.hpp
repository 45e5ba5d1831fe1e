// A supervised connection: keeps one transport alive, lets commands wait for it, and sees to it
// that each ends by its deadline.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "stores/redis/client/address_resolver.hpp"
#include "stores/redis/client/command.hpp"
#include "stores/redis/client/connection_check.hpp"
#include "stores/redis/client/router.hpp"
#include "stores/redis/client/script_bundle.hpp"
#include "stores/redis/client/transport.hpp"

namespace herdlock::redis {

/// Commands of one connection that wait or are under way; one more is errc::overloaded.
inline constexpr std::size_t max_outstanding_commands = 200'000;
/// Commands of one write.
inline constexpr std::size_t max_batch_commands = 256;
/// So many commands are completed in one turn of the event loop, and the rest of a call that some
/// share.
inline constexpr std::size_t completions_per_turn = 16;
/// The pause before the next connection attempt: doubled from the first to the second of these,
/// each time a random part between half of it and all.
inline constexpr milliseconds min_reconnect_pause{50};
inline constexpr milliseconds max_reconnect_pause{2000};
/// With a resolver, which may know a new address, the old one is not waited for that long.
inline constexpr milliseconds max_resolved_pause{250};
inline constexpr milliseconds max_resolved_attempt{1000};

/// Told what happens to the connection, and what the server pushes.
class connection_listener {
 public:
  virtual ~connection_listener() = default;
  virtual void on_connection_up() {}
  virtual void on_connection_down() {}  ///< after each failed attempt, too
  virtual void on_message(reply const&) {}
};

/// Takes over commands that another server has to execute: the connections to a cluster's nodes
/// have one.
class redirector {
 public:
  virtual ~redirector() = default;
  /// `line` is the server's error. True: it says that `one` was not executed and belongs elsewhere;
  /// `one` has been taken. False: the line is the command's own error.
  virtual bool redirect(command_ptr& one, std::string_view line) = 0;
};

/// All members on the executor.
///
/// While there is no connection commands wait for it, at most until their deadline; the failure
/// then has the last attempt's reason. When the server refuses the settings themselves (password,
/// ACL, certificate, database) waiting is no use: everything waiting fails at once, and so does
/// what comes before the next attempt. A connection that is lost fails at once what was sent over
/// it (its outcome is unknown); what was not sent yet waits for the next one. A command that
/// reaches its deadline without a byte having come from the server since it was sent ends the
/// connection: the server, or the way to it, hangs. So does a reply that says that another server
/// is needed (a demoted master, a replica): the name is resolved again, or the resolver of the
/// settings is asked again. (Not with a redirector: it knows better where to go.)
///
/// With an examination a connection is up, and commands are sent over it, once the server passed.
class connection final : public router,
                         public transport_listener,
                         public std::enable_shared_from_this<connection> {
 public:
  /// `check` may be null.
  connection(asio::any_io_executor executor, settings how,
             std::shared_ptr<connection_check> check = nullptr);
  ~connection() override;

  /// Before open(). The address is chosen anew for each attempt to connect.
  void choose_address(std::function<void(settings&)> choose) {
    choose_address_ = std::move(choose);
  }
  void redirect_to(std::weak_ptr<redirector> taker) {
    redirector_ = std::move(taker);
    redirects_ = true;
  }

  /// Before open(). Each listener hears everything and picks what it knows.
  void attach(std::weak_ptr<connection_listener> listener) {
    listeners_.push_back(std::move(listener));
  }
  /// Connects, if it does not yet. When it is up already the caller sees that by up().
  void open();
  /// Everything outstanding completes with errc::canceled, and nothing is taken any more.
  void close();

  /// A command that has a deadline already keeps it.
  void submit(command_ptr what) override;
  /// Completes the command with errc::canceled; not sent if it was not.
  void cancel(command& what) override;
  /// What was not sent yet and has a key, in its order, to go another way.
  std::vector<command_ptr> take_unsent();
  /// Gives the connection up, as if it were lost.
  void leave(failure const& why);
  /// For listeners: between on_connection_up and on_connection_down.
  void subscription(std::string_view verb, std::string_view channel);

  bool up() const { return stage_ == stage::up; }
  /// What the server told when the connection came up last; null without an examination.
  server_facts const* facts() const { return check_ ? &check_->facts() : nullptr; }
  std::int64_t fence_floor() const override { return fence_floor_; }
  settings const& how() const override { return how_; }
  asio::any_io_executor const& executor() const override { return executor_; }
  std::weak_ptr<router> weak_router() override { return weak_from_this(); }
  connection* carrier_for(std::string_view) override { return this; }
  std::vector<std::shared_ptr<connection>> servers() override { return {shared_from_this()}; }
  bool may_have_sent() const override { return connections_ != 0; }
  std::shared_ptr<connection> make_event_connection() override;
  /// Why there is no connection; no code when there is one, or none was tried.
  failure const& last_failure() const { return last_failure_; }
  /// How many connections have been up so far: the same number at two times while it is up means
  /// the same connection between them.
  std::uint64_t connections() const { return connections_; }

 private:
  using time_point = std::chrono::steady_clock::time_point;
  enum class stage {
    down,      // no connection, or one that is not greeted yet
    checking,  // the transport has the examination's batch
    up,
    ending,  // it was up, and its end follows
  };

  void on_ready(transport& from) override;
  void on_ended(transport& from, failure why, failure_kind kind) override;
  bool on_reply(transport& from, batch& of, std::size_t number) override;
  void on_turn(transport& from) override;
  void on_batch(transport& from, batch_ptr done, failure const* why) override;
  void on_push(transport& from, reply const& message) override;

  void limit_attempt(milliseconds limit);
  void connect();
  void on_moved(stores::server_address const& to);
  void on_resolved(result<stores::server_address> at, failure_kind kind);
  void on_checked(batch_ptr done, failure const* why);
  void come_up();
  milliseconds attempt_limit() const;
  void lose(failure why, failure_kind kind);
  void leave_server(std::string_view line);
  void reconnect_later();
  void refuse_waiting();

  template <class F>
  void tell_listeners(F what) const;

  failure refusal() const;
  void flush_soon();
  void flush();
  void send_batch();
  command& take_next(batch& into);
  void put_alone(batch& into);
  void put_bundle(batch& into, std::size_t size);
  void fail_unanswered(batch& lost, failure const& why);
  void complete_next(transport& from, batch& of);
  void recycle(batch_ptr used);
  void complete_one(command_ptr one, reply const& answer);
  void ask_again(command_ptr one, reply const& answer);
  bool redirected(command_ptr& one, reply const& answer);
  void keep_deadline(command& one);
  void take_off(command& one);
  void end_outstanding(failure const& why);

  friend class command;
  void on_deadline(command& one);
  failure no_connection(errc code) const;
  failure missed_deadline(command const& one) const;
  void drop_ended();

  asio::any_io_executor executor_;
  settings how_;  // host and port: where the last attempt led to
  std::shared_ptr<connection_check> check_;
  std::vector<std::weak_ptr<connection_listener>> listeners_;
  std::weak_ptr<redirector> redirector_;
  std::function<void(settings&)> choose_address_;
  std::shared_ptr<void> watching_;  // the resolver, for moves
  std::shared_ptr<void> asking_;    // the resolver, before the attempt has a transport
  std::shared_ptr<transport> transport_;
  asio::steady_timer attempt_timer_;  // the attempt's limit, or the pause before the next
  std::shared_ptr<steady_shared_timer> deadlines_;  // of the open commands
  milliseconds pause_ = min_reconnect_pause;
  time_point left_server_at_{};  // the last leave_server()
  failure last_failure_;
  failure_kind kind_ = failure_kind::temporary;

  std::deque<command_ptr> waiting_;  // not sent; those that ended meanwhile are skipped
  std::size_t outstanding_count_ = 0;
  std::vector<batch_ptr> idle_batches_;
  std::size_t batches_under_way_ = 0;
  std::size_t completed_in_turn_ = 0;
  std::string misdirected_;  // a reply of the present connection that says so

  script_bundle bundle_;
  std::int64_t fence_floor_ = 1;
  std::uint64_t connections_ = 0;
  stage stage_ = stage::down;
  bool opened_ = false;
  bool closed_ = false;
  bool redirects_ = false;
  bool flush_posted_ = false;
  bool completing_ = false;
};

}  // namespace herdlock::redis
