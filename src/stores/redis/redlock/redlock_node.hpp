// One node of a redlock store: its connection, whether it may vote, and its pending releases.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <memory>

#include "stores/redis/client/connection.hpp"
#include "stores/redis/redlock/redlock_scripts.hpp"
#include "stores/redis/redlock/voting_delay.hpp"

namespace herdlock::redis {

/// Commands of one node without an answer; with so many it counts as down.
inline constexpr std::size_t max_node_backlog = 10'000;
/// Releases that wait for one node to be reachable again. Of more the oldest go: those leases end
/// by their ttl.
inline constexpr std::size_t max_pending_releases = 10'000;
/// Releases that are tried again at once: others have to ask the node, too.
inline constexpr std::size_t max_retried_at_once = 500;
/// After so long a release is given up: the node was never reached again.
inline constexpr milliseconds pending_for{std::chrono::minutes{10}};
/// "Not yours" is no proof while the request may still be on its way over a connection that was
/// given up: asked again until so long after the first such answer.
inline constexpr milliseconds repeated_for{10'000};

/// Whether a request that grants may still be on its way to a node.
enum class late_grants { none, possible };

/// Who asks a node, and hears from it: exactly one of the two for each send(), on the executor,
/// never inside it.
class node_request {
 public:
  explicit node_request(lease_request what) : what_(std::move(what)) {}
  virtual ~node_request() = default;
  node_request(node_request const&) = delete;
  node_request& operator=(node_request const&) = delete;

  virtual void on_answer(node_verb verb, std::size_t node, reply const& answer) = 0;
  /// It said no, and has done nothing (a missing right, a key of another type, no memory); or,
  /// where late grants are possible, whether it acted is unknown.
  virtual void on_failed(node_verb verb, std::size_t node, failure const& why,
                         late_grants grants) = 0;

  lease_request const& what() const { return what_; }

 protected:
  lease_request what_;
};

/// What all nodes of a store tell it.
class node_listener {
 public:
  virtual ~node_listener() = default;
  /// Connected and looked at, or found to be down: whichever was first.
  virtual void on_node_known() = 0;
  /// Connected and looked at, each time.
  virtual void on_node_ready() = 0;
  /// Which server it is: another one with each start of its process.
  virtual void on_node_server(std::size_t node, std::string const& run_id) = 0;
  /// Its clock, in microseconds.
  virtual void on_node_time(std::size_t node, std::int64_t server_time) = 0;
};

class redlock_node final : public connection_listener,
                           public std::enable_shared_from_this<redlock_node> {
 public:
  /// `warnings` may be null.
  redlock_node(asio::any_io_executor const& executor, settings const& how, std::size_t index,
               std::shared_ptr<store_warnings> warnings);

  void open(std::weak_ptr<node_listener> owner, milliseconds restart_delay);
  void close();

  /// Why the node cannot be asked this now; null when it can.
  failure const* refusal(node_verb verb) const;
  /// Only without refusal().
  void send(node_verb verb, std::shared_ptr<node_request> from);
  /// Sends a release or undo now if it can be, else as soon as it can be, and again until it is
  /// known that nothing is left there.
  void give_back(node_verb verb, lease_request what, late_grants grants);

  /// The node did not answer in time. Nobody waits for it, until it answers something.
  void note_silence();

  bool known() const { return state_ != state::opening; }
  bool ready() const { return state_ == state::ready; }
  std::size_t index() const { return index_; }
  std::string const& display_name() const { return connection_->how().display_name; }
  connection& wire() { return *connection_; }
  std::shared_ptr<connection> const& shared_wire() const { return connection_; }

 private:
  friend class node_command;
  friend class sign_command;
  friend class check_command;
  class pending_release;
  enum class state { opening, down, checking, ready };
  enum class command_end { answered, failed };

  void on_connection_up() override;
  void on_connection_down() override;

  void on_checked(result<voting_delay::server> found, std::uint64_t generation);
  void become(state to);
  void on_command_over(command_end how);
  void keep_pending(std::shared_ptr<pending_release> one);
  void retry_after(milliseconds pause);
  void retry();

  std::shared_ptr<connection> connection_;
  std::size_t index_;
  connection_check check_;
  std::weak_ptr<node_listener> owner_;
  asio::steady_timer retry_timer_;
  std::deque<std::shared_ptr<pending_release>> pending_releases_;
  failure down_;
  failure silent_why_;
  voting_delay voting_;
  std::size_t backlog_ = 0;
  /// Of the connection: what was asked over an earlier one must not be sent over the next, to a
  /// server that may have been restarted and was not looked at.
  std::uint64_t generation_ = 0;
  state state_ = state::opening;
  bool silent_ = false;
  bool retry_planned_ = false;
  bool closed_ = false;
};

}  // namespace herdlock::redis
