// The channel on which a store hears of the grants to its waiters, and how old they can be.
//
// A grant may lie in a queue of the network for any time before it is read here, so its age has to
// be bounded without the server's wall clock. While somebody waits, the store publishes numbered
// beats to its own channel. A channel keeps its order: a grant that is read behind beat n was given
// after the server had beat n, that is, after beat n was sent here.
//
// That is so for one server. Over the bus of a cluster each node's messages come in an order of
// their own, so there each node that is waited at has a channel of its own name, over a connection
// and with beats of its own: see grant_subscriptions.hpp.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include <herdlock/types.hpp>
#include "stores/redis/client/connection.hpp"

namespace herdlock::redis {

struct pushed_grant {
  fencing_token fencing;
  milliseconds ttl;
  std::string_view owner;
  std::string_view resource;
  std::optional<clock::time_point> since;  ///< it was not given before; nothing: no beat was heard
};

/// The text of a pushed message; nothing when it is not understood.
std::optional<pushed_grant> parse_grant(std::string_view text);

class grant_subscription;

class grant_listener {
 public:
  virtual ~grant_listener() = default;
  virtual void on_listening(grant_subscription& at) = 0;
  /// It listened until now.
  virtual void on_silent(grant_subscription& at) = 0;
  /// The grant's texts live as long as the call.
  virtual void on_grant(grant_subscription& at, pushed_grant const& heard) = 0;
};

/// All members on the executor. To be attached to `pushes` by the maker.
class grant_subscription final : public connection_listener {
 public:
  /// `pushes` leads to the server of `commands`.
  grant_subscription(std::shared_ptr<connection> commands, std::shared_ptr<connection> pushes);

  void report_to(std::weak_ptr<grant_listener> listener) { listener_ = std::move(listener); }

  /// The subscriber's name, 128 random bits: nobody else hears what is for us.
  std::string const& subscriber() const { return subscriber_; }
  /// The server has confirmed that it pushes to us.
  bool listening() const { return state_ == state::listening; }
  /// The user may not listen.
  bool refused() const { return state_ == state::refused; }
  connection const& commands() const { return *commands_; }

  /// Subscribes when the connection is up; from the first call on, after each reconnect too.
  void open();
  /// Sends a beat unless the last one is younger.
  void beat(milliseconds at_least_every);
  /// Ends the pushing connection, too.
  void close();

  /// How many resources are waited for through it: without any it needs no beats.
  void add_user() { ++users_; }
  void remove_user() { --users_; }
  bool in_use() const { return users_ > 0; }

 private:
  enum class state { down, asked, listening, refused };
  static constexpr std::size_t max_beats_under_way = 64;

  void on_connection_up() override;
  void on_connection_down() override;
  void on_message(reply const& message) override;

  void subscribe();
  void on_beat(std::string_view number);

  std::shared_ptr<connection> commands_;
  std::shared_ptr<connection> pushes_;
  std::weak_ptr<grant_listener> listener_;
  std::string subscriber_;
  std::string name_;
  state state_ = state::down;
  bool wanted_ = false;
  std::size_t users_ = 0;
  std::shared_ptr<std::uint64_t> subscriptions_ = std::make_shared<std::uint64_t>(0);
  struct beat_sent {
    std::uint64_t number;
    clock::time_point at;
  };
  std::deque<beat_sent> beats_;  // not heard yet
  std::uint64_t last_beat_ = 0;
  std::optional<clock::time_point> beaten_at_;
  std::optional<clock::time_point> since_;
};

}  // namespace herdlock::redis
