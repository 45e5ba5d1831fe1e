// One node of a redlock store: its link, whether it may vote, and what it is still owed.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>

#include "stores/redis/client/connection.hpp"
#include "stores/redis/redlock/redlock_scripts.hpp"

namespace herdlock::redis {

/// Commands of one node without an answer; with so many it counts as down.
inline constexpr std::size_t max_node_backlog = 10'000;
/// What one node is to be given back when it is reachable again; more (the oldest) ends by its ttl.
inline constexpr std::size_t max_owed_releases = 10'000;
/// What is paid at once: others have to ask it, too.
inline constexpr std::size_t max_paid_at_once = 500;
/// For so long a node that was never reached again is owed anything at all.
inline constexpr milliseconds owed_for{std::chrono::minutes{10}};
/// "Not yours" is no proof while the request may still be on its way over a connection that was
/// given up: asked again until so long after the first such answer.
inline constexpr milliseconds settled_after{10'000};

/// Whether a request that grants may still be on its way to a node.
enum class late_grants { none, possible };

/// Who asks a node, and hears from it: exactly one of the three for each send(), on the executor,
/// never inside it.
class node_request {
 public:
  explicit node_request(lease_question what) : question_(std::move(what)) {}
  virtual ~node_request() = default;
  node_request(node_request const&) = delete;
  node_request& operator=(node_request const&) = delete;

  virtual void on_answer(node_verb verb, std::size_t node, reply const& answer) = 0;
  /// It said no, and has done nothing: a missing right, a key of another type, no memory.
  virtual void on_refused(node_verb verb, std::size_t node, failure const& why) = 0;
  /// Whether it acted is unknown.
  virtual void on_no_answer(node_verb verb, std::size_t node, failure const& why) = 0;

  lease_question const& question() const { return question_; }

 protected:
  lease_question question_;
};

/// What all nodes of a store tell it.
class node_owner {
 public:
  virtual ~node_owner() = default;
  /// Connected and looked at, or found to be down: whichever was first.
  virtual void on_node_settled() = 0;
  /// Its clock, in microseconds.
  virtual void on_node_time(std::size_t node, std::int64_t server_time) = 0;
};

class redlock_node final : public link_observer, public std::enable_shared_from_this<redlock_node> {
 public:
  /// `warnings` may be null.
  redlock_node(asio::any_io_executor const& executor, settings const& how, std::size_t index,
               std::shared_ptr<store_warnings> warnings);

  void open(std::weak_ptr<node_owner> owner, milliseconds restart_delay);
  void close();

  /// Why the node cannot be asked this now; null when it can.
  failure const* refusal(node_verb verb) const;
  /// Only without refusal().
  void send(node_verb verb, std::shared_ptr<node_request> from);
  /// Sends a release or undo now if it can be, else as soon as it can be, and again until it is
  /// known that nothing is left there.
  void give_back(node_verb verb, lease_question what, late_grants grants);

  /// The node did not answer in time. Nobody waits for it, until it answers something.
  void note_silence();

  bool settled() const { return state_ != state::opening; }
  bool ready() const { return state_ == state::ready; }
  std::size_t index() const { return index_; }
  std::string const& place() const { return link_->how().display_name; }
  link& connection() { return *link_; }
  std::shared_ptr<link> const& shared_connection() const { return link_; }

 private:
  friend class node_command;
  friend class vetting_command;
  class owed_release;
  enum class state { opening, down, vetting, ready };
  enum class command_end { answered, failed };

  void on_link_up() override;
  void on_link_down() override;
  void on_message(reply const&) override {}

  void on_vetted(result<std::int64_t> uptime, std::uint64_t generation);
  void settle(state to);
  void on_command_over(command_end how);
  void owe(std::shared_ptr<owed_release> one);
  void pay_after(milliseconds pause);
  void pay();

  std::shared_ptr<link> link_;
  std::size_t index_;
  server_exam exam_;
  std::weak_ptr<node_owner> owner_;
  milliseconds restart_delay_{0};
  asio::steady_timer pay_timer_;
  std::deque<std::shared_ptr<owed_release>> owed_;
  failure down_;
  failure silent_why_;
  failure restarted_;
  std::chrono::steady_clock::time_point votes_from_{};
  std::size_t backlog_ = 0;
  /// Of the connection: what was asked over an earlier one must not be sent over the next, to a
  /// server that may have been restarted and was not looked at.
  std::uint64_t generation_ = 0;
  state state_ = state::opening;
  bool silent_ = false;
  bool paying_later_ = false;
  bool closed_ = false;
};

}  // namespace herdlock::redis
