// The channel on which a store hears of the grants to its waiters, and how old they can be.
//
// A grant may lie in a queue of the network for any time before it is read here, so its age has to
// be bounded without the server's wall clock. While somebody waits, the store publishes numbered
// beats to its own channel. A channel keeps its order: a grant that is read behind beat n was given
// after the server had beat n, that is, after beat n was sent here.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include <herdlock/types.hpp>
#include "stores/redis/link.hpp"
#include "stores/redis/push_connection.hpp"

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

/// All members on the executor.
class grant_channel {
 public:
  grant_channel(std::shared_ptr<link> commands, std::shared_ptr<push_connection> pushes);

  /// The hub's name, 128 random bits: nobody else hears what is for us.
  std::string const& hub() const { return hub_; }
  /// The server has confirmed that it pushes to us.
  bool listening() const { return state_ == state::listening; }

  /// Subscribes when the connection is up; from the first call on, after each reconnect too.
  void open();
  /// Sends a beat unless the last one is younger.
  void beat(milliseconds at_least_every);

  void on_link_up();
  void on_link_down();

  enum class news { none, listening, refused, granted };
  /// `granted` fills in the grant, whose texts live as long as the message.
  news on_message(reply const& message, pushed_grant& heard);

 private:
  enum class state { down, asked, listening, refused };
  static constexpr std::size_t max_beats_under_way = 64;

  void subscribe();
  void on_beat(std::string_view number);

  std::shared_ptr<link> commands_;
  std::shared_ptr<push_connection> pushes_;
  std::string hub_;
  std::string name_;
  state state_ = state::down;
  bool wanted_ = false;
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
