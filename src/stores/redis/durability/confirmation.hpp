// Is a grant safe from a failover? Asked at the master, over a connection of its own, after each
// grant and renewal.
//
// WAIT blocks the connection that it is sent over, so the connection for commands must not see it.
// It answers how many replicas have everything that the master had done when the *same* connection
// wrote last (since Redis 7.2, and in Valkey; before, when it sent its last command): so a round
// is, in one write,
//
//     [whether this master may be trusted yet]   which leases are here; write one   WAIT n timeout
//
// The two connections may lead to two servers: behind a name, a proxy or a virtual address, one of
// them is made anew and the other stays where it was.
//
//     1. the old master renews a lease, over the connection for commands
//     2. the new master has the lease, with the deadline of before, and replicas that confirm it
//     3. the holder believes in the whole ttl, and the new master grants the lease to another
//
// So the look tells who the server is (run id and replication id). When that is not who the
// connection for commands has met, nothing counts, and both connections are made anew. And a lease
// that has less time left than its holder believes in gets that time, in the same step; WAIT then
// covers it, too. What is asked while a round is under way goes into the next one together.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include <herdlock/backend.hpp>
#include "stores/redis/client/connection.hpp"

namespace herdlock::redis {

/// What one round takes; the rest waits for the next.
inline constexpr std::size_t max_round = 200;
/// The key that says which server was the master when, as seen by the first client that met it.
inline constexpr std::string_view incarnation_key = "herdlock:incarnation";

/// A grant must also wait until the quarantine of a new master is over; a renewal need not.
enum class what_happened { granted, renewed };

/// What is to be confirmed.
struct lease_in_question {
  what_happened what;
  resource name;
  owner_token owner;
  clock::time_point until;  ///< what its holder will believe in

  failure about(failure const& why) const;
};

/// All members on the executor.
class confirmation final : public std::enable_shared_from_this<confirmation> {
 public:
  /// Called once, later: without code when it is safe.
  using answer = std::function<void(failure)>;

  /// `commands`: over which the leases are granted and renewed.
  explicit confirmation(std::shared_ptr<connection> commands);

  void open();
  /// Everything waiting completes with errc::canceled.
  void close();

  void confirm(lease_in_question lease, answer done);

  /// Why a lease of that length need not be asked for; without code when there is no reason.
  failure refusal(what_happened what, milliseconds ttl) const;
  asio::any_io_executor const& executor() const { return connection_->executor(); }

 private:
  struct entry {
    lease_in_question lease;
    answer done;
    clock::time_point deadline;  // the caller's
  };
  struct round;

  void start_round();
  void ask(std::shared_ptr<round> const& one);
  template <class T>
  void start(std::shared_ptr<round> const& one, T round::*member,
             std::function<void(command_writer&, script_form)> write);
  void on_answer(std::shared_ptr<round> const& one);
  bool is_another_server(round const& one) const;
  failure opinion(round const& one, std::size_t index) const;
  milliseconds quarantined() const;
  failure in_quarantine() const;
  void complete(round& one, failure const& why);
  failure too_few(std::int64_t replicas) const;
  failure too_late() const;
  failure elsewhere() const;

  settings how_;
  std::shared_ptr<connection> commands_;
  std::shared_ptr<connection> connection_;
  std::deque<entry> waiting_;
  std::shared_ptr<round> running_;
  clock::time_point trusted_from_{};
  bool closed_ = false;
};

}  // namespace herdlock::redis
