// A lease over N independent nodes, as state machines: what a majority of answers says, and the
// fencing token that a majority knows.
//
// Each node keeps the owner under a ttl, and a counter that only rises. Taking a free node raises
// its counter above what it was, and returns it. A token T may be handed out when
//   (1) a majority of nodes is ours and returned at most T, and
//   (2) a majority of nodes is ours and its counters have reached T.
// Two majorities share a node. At the one that the next holder's (1) shares with this holder's (2)
// the next holder comes later, finds at least T and returns more: its token is greater. If all
// counters agree, the usual case, both majorities are the first answers: one round trip. Else the
// counters that lag are raised, compared with the owner in the same step at the node, and later
// answers may settle it sooner: with all nodes' answers the median needs no raising. Nothing is
// raised to a number that is hours ahead, a wrong clock's, before these are in or not to be had.
//
// Counters are never lowered: a message can arrive after its sender's time is over.
//
// Pure: no clock, no socket. Answers may come in any order, late, or never; each node's first
// counts.
// Why: docs/stores/redlock.md#a-majoritys-token-in-one-round
#pragma once

#include <array>
#include <bitset>
#include <cstdint>

#include <herdlock/types.hpp>

namespace herdlock::algo {

inline constexpr std::size_t max_quorum_nodes = 15;
/// Counters begin with a time in microseconds. A counter that is ahead of the others by more than
/// this comes from a clock that is, or once was, wrong.
inline constexpr std::int64_t far_ahead = std::int64_t{3600} * 1'000'000;
using node_set = std::bitset<max_quorum_nodes>;

/// Any two of this size share a node, for even numbers too.
constexpr std::size_t majority_of(std::size_t nodes) { return nodes / 2 + 1; }

/// A node's yes to an acquisition.
struct node_grant {
  std::uint64_t counter;  ///< what it has reached there now
  milliseconds left;      ///< at least so much from the time the request was sent
};

/// The action that the driver takes now.
struct quorum_action {
  enum class verdict {
    none,     ///< wait
    granted,  ///< hand out token() for left(); at most once, and then never refused
    refused,  ///< no majority: tell the caller; at most once
  };
  verdict decided = verdict::none;
  node_set raise;    ///< raise the counter to token() at these
  node_set release;  ///< give these back; what did not answer may have granted, too
};

/// One acquisition. The driver asks every node, or reports failed() for it at once.
class quorum_grant {
 public:
  /// `sent`: read before the first request went out.
  quorum_grant(std::size_t nodes, clock::time_point sent, milliseconds ttl);

  quorum_action granted(std::size_t node, node_grant what, clock::time_point now);
  /// The node is another's.
  quorum_action busy(std::size_t node, clock::time_point now);
  /// No answer, and none is waited for any more. A later one still counts.
  quorum_action failed(std::size_t node, clock::time_point now);
  /// The node is still ours, and its counter is so far now.
  quorum_action raised(std::size_t node, std::uint64_t counter, clock::time_point now);
  /// The node is not ours any more, or did not answer.
  quorum_action not_raised(std::size_t node, clock::time_point now);
  /// Nobody is waited for any more: decide.
  quorum_action give_up(clock::time_point now);
  /// The caller has gone: refused unless decided.
  quorum_action cancel();

  bool decided() const { return state_ != state::asking; }
  fencing_token token() const { return {token_}; }
  /// From `sent` on, a majority is ours for at least so long.
  milliseconds left() const { return left_; }
  /// Neither answered nor failed.
  node_set unanswered() const;

 private:
  enum class state { asking, granted, refused };
  enum class answer : std::uint8_t { none, ours, others, failed };
  enum class raising : std::uint8_t { idle, asked, failed };
  struct node {
    answer said = answer::none;
    raising raise = raising::idle;
    std::uint64_t counter = 0;
    std::uint64_t wanted = 0;  // what the raise under way asks for
    milliseconds left{0};
  };

  quorum_action decide(clock::time_point now);
  quorum_action refuse();
  node_set lagging();
  bool others_may_settle_it() const;
  void choose(node_set among);
  node_set ours() const;
  node_set all() const;

  std::array<node, max_quorum_nodes> nodes_{};
  std::size_t count_;
  std::size_t majority_;
  clock::time_point sent_;
  milliseconds ttl_;
  state state_ = state::asking;
  std::uint64_t token_ = 0;
  milliseconds left_{0};
};

/// The answer of a majority to a yes-or-no question (renew, release).
class quorum_tally {
 public:
  enum class verdict {
    none,
    yes,        ///< a majority said yes
    no,         ///< so many said no that no majority can say yes
    undecided,  ///< neither, and nobody is waited for any more
  };

  explicit quorum_tally(std::size_t nodes) : count_(nodes) {}

  void yes(std::size_t node) { take(node, yes_); }
  void no(std::size_t node) { take(node, no_); }
  void failed(std::size_t node) { take(node, failed_); }

  verdict standing() const;
  std::size_t yes_count() const { return yes_.count(); }
  std::size_t failed_count() const { return failed_.count(); }
  std::size_t answered() const { return yes_.count() + no_.count(); }
  bool has_majority() const { return answered() >= majority_of(count_); }
  bool settled() const { return (yes_ | no_ | failed_).count() == count_; }
  bool has(std::size_t node) const { return (yes_ | no_ | failed_).test(node); }

 private:
  void take(std::size_t node, node_set& as) {
    if (!has(node)) as.set(node);
  }

  std::size_t count_;
  node_set yes_, no_, failed_;
};

}  // namespace herdlock::algo
