// The session of a store: there is always one, or one is being made.
#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <optional>

#include "stores/zookeeper/client_handle.hpp"
#include "stores/zookeeper/detached_threads.hpp"
#include "stores/zookeeper/expiry_guard.hpp"

namespace herdlock::zookeeper {

class store_state;

/// Requests are sent in the order of the calls; those that come while there is no connection are
/// sent when there is one. All members but close() on the executor.
class session final : public handle_listener, public std::enable_shared_from_this<session> {
 public:
  session(asio::any_io_executor executor, settings how, std::weak_ptr<store_state> owner)
      : executor_(std::move(executor)),
        settings_(std::move(how)),
        owner_(std::move(owner)),
        retry_(executor_) {}
  ~session() override { close(); }

  /// From any thread.
  void start();
  /// From any thread; waits for the session's end, but no longer than an operation may take.
  void close();

  /// `done` is not called once `owner` has gone; it must not hold the owner itself. With
  /// ZCONNECTIONLOSS the outcome is unknown; with ZSESSIONEXPIRED nothing happened in any session
  /// that lives.
  void call(request what, std::weak_ptr<void> owner, reply_handler done);

  bool connected() const { return connected_; }
  /// How often a connection was made: a call that waits for one still waits while this is the same.
  std::uint64_t connections() const { return connections_; }
  /// When the last write began that the present session surely outlived.
  std::optional<clock::time_point> proved_at() const { return proved_at_; }
  expiry_guard& expiry() { return expiry_; }
  /// Why nothing works, whatever is tried; the store's message for it.
  std::string const& refusal() const { return refusal_; }

 private:
  struct waiting_call {
    request what;
    std::weak_ptr<void> owner;
    reply_handler done;
  };

  void on_handle_event(std::uint64_t number, handle_event what, milliseconds timeout) override;
  void on_watch_event(std::string const& path, watch_event what) override;

  void replace_handle();
  bool open_handle();
  std::shared_ptr<client_handle> present_handle();
  void on_connected(milliseconds timeout);
  void lose();
  void retry_later();
  void send(waiting_call one);
  void on_reply(waiting_call const& one, reply answer);
  void answer_later(waiting_call one, int code);
  void remove_at_once(expiry_guard::node const& over);

  asio::any_io_executor const executor_;
  settings const settings_;
  std::weak_ptr<store_state> const owner_;
  asio::steady_timer retry_;

  std::mutex guard_;  ///< of the two below
  std::shared_ptr<client_handle> handle_;
  bool closed_ = false;

  std::uint64_t number_ = 0;
  std::uint64_t connections_ = 0;
  std::atomic<bool> connected_ = false;  ///< changes on the executor
  bool logged_in_ = false;
  std::optional<clock::time_point> proved_at_;
  std::string refusal_;
  std::deque<waiting_call> waiting_;
  std::size_t tidy_at_ = 64;
  detached_threads handle_threads_;  ///< where they are opened and ended, which blocks
  // Last, so that its thread ends before the rest.
  expiry_guard expiry_{[this](expiry_guard::node const& over) { remove_at_once(over); }};
};

}  // namespace herdlock::zookeeper
