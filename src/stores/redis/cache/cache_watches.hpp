// Who waits for which claim to end, over a second connection that only receives events.
//
// Nothing is missed: a watch first has the server's word that the channel is subscribed, then
// looks whether there is still a claim, and only then waits. A claim that ends before the look is
// seen by the look; one that ends after it sends its event to the subscription. A claim that
// expires sends nothing, so a watch looks again when the claim's ttl is over. Events and looks name
// the claim by its fencing token, so that a late event of an earlier claim answers nobody.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include <herdlock/backend.hpp>
#include "stores/common/pending.hpp"
#include "stores/redis/client/connection.hpp"
#include "stores/redis/timers.hpp"

namespace herdlock::redis {

/// Watches of one store at a time; one more is errc::overloaded.
inline constexpr std::size_t max_watches = 100'000;

/// All members on the executor.
class cache_watches final : public connection_listener,
                            public std::enable_shared_from_this<cache_watches> {
 public:
  /// To be attached to `events` by the maker.
  /// `warnings` may be null.
  cache_watches(std::shared_ptr<router> commands, std::shared_ptr<connection> events,
                std::shared_ptr<store_warnings> warnings);

  /// What a look finds.
  struct claim_seen {
    milliseconds left{0};      ///< 0: there is no claim
    std::uint64_t number = 0;  ///< its fencing token; 0: not known
  };

  void watch(watch_request request, handler<watch_reply> done);
  /// Completes all with errc::canceled.
  void close();

 private:
  using time_point = std::chrono::steady_clock::time_point;
  struct channel;
  struct entry {
    entry(cache_watches& home, channel& where, watch_request request, handler<watch_reply> done);

    std::uint64_t id = 0;
    watch_request asked;
    stores::pending<watch_reply> caller;
    alarm wake;
    time_point end{};  // of the caller's wait
    channel* at;
    std::uint64_t claim = 0;  // the one that the look saw; 0: not looked yet, or not known
  };
  struct channel {
    std::string name;
    cache_key key;
    std::set<std::uint64_t> watches;
    std::size_t asked = 0;          // SUBSCRIBEs sent over this connection
    std::size_t answered = 0;       // and how many of them the server has confirmed
    std::uint64_t look_covers = 0;  // the last watch that was there when the look was sent
    bool looking = false;
    bool look_once_more = false;
  };

  void on_connection_up() override;
  void on_connection_down() override;
  void on_message(reply const& message) override;

  channel& channel_of(cache_key const& key);
  void subscribe(channel& to);
  void warn_of(failure const& why);
  void on_subscribed(std::string_view name);
  void on_event(std::string_view name, std::string_view event);
  void look(channel& at);
  void on_look(std::string const& name, result<claim_seen> seen);
  void leave_if_unused(channel& from);

  void on_cancel(std::uint64_t id);
  void complete(std::uint64_t id, result<watch_reply> outcome);
  void complete_every(result<watch_reply> const& outcome);
  void complete_all(channel& at, watch_reply const& outcome);
  void on_wake(entry& one);

  std::shared_ptr<router> commands_;
  std::shared_ptr<connection> events_;  // opened by the first watch
  std::shared_ptr<store_warnings> warnings_;
  std::unordered_map<std::uint64_t, entry> watches_;
  std::map<std::string, channel, std::less<>> channels_;
  std::shared_ptr<steady_shared_timer> timers_;
  std::uint64_t last_id_ = 0;
  bool lost_ = false;  // the connection for events, which was there
  bool closed_ = false;
};

}  // namespace herdlock::redis
