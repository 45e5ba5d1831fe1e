// The coherence of one near cache, over one server or the nodes of a cluster: which of the values
// that a process has read it may keep and serve, although others write.
//
//   read_sent ──▶ stamp ──▶ the read, on the wire ──▶ fill(stamp) ──▶ near_entry, or refused
//   push, own write, flush, moved slot ──▶ what to drop, and stamps that do not match any more
//   PING ──▶ pushes that were under way ──▶ PONG ──▶ what is kept may be served for a while
//
// A hit asks nothing of the machine. An entry belongs to a generation, and the table keeps one time
// for each generation: an atomic, to which its entries point. An entry is served
//
//   while   now < min(entry.expires, time of its generation)
//
// `trust` sets that time; `end` sets it to the beginning of time, for good. So a flush, a
// connection that was lost and one that hangs end any number of entries at once, those included
// that are inserted afterwards. The table removes them when it likes.
//
// The driver's duties: it calls on one executor, and applies the actions of a plan in their order
// and before the next event. It sends a read after read_sent(), a PING after its action, and
// inserts what fill() admits before the next event. Key, database, user and codec are the same for
// all of one machine: others have another one, and another table.
//
// A PONG proves that a server speaks, not that it is still the one that the keys are read from: the
// driver says lost() when it learns that it is not. Some changes no server pushes: SWAPDB, and that
// the slot of a missing key moves. They are drop_all() and slot_moved() when they are seen, and
// fill() and fence() bound what is not seen of slots. A push is never an order to read.
//
// Pure: no clock, no connection, no value.
// Why: docs/decisions/near-cache.md#the-near-cache-is-a-machine
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>

#include "algo/near_actions.hpp"
#include "algo/near_server.hpp"
#include "algo/near_stamps.hpp"

namespace herdlock::algo {

/// Asks the server to push changes of what is read over this connection behind CLIENT CACHING YES,
/// whoever makes them. Never with NOLOOP: others of this process write over it, too.
std::span<std::string_view const> near_tracking_command() noexcept;

/// Connections that one machine knows at a time. Values that are read over one more are not kept.
inline constexpr std::size_t most_near_connections = 1024;

/// Events of connections that it does not know, or no more, are late: they admit nothing.
class near_machine {
 public:
  explicit near_machine(near_settings settings) : settings_(settings), stamps_(settings.stripes) {}
  near_machine(near_machine const&) = delete;
  near_machine& operator=(near_machine const&) = delete;

  // A connection's life.

  /// A connection is up; near_tracking_command() is to be sent after `now`. Nothing: too many are.
  std::optional<near_connection> connected(clock::time_point now);
  /// The server's answer to the command: OK. Reads that are sent from now on may fill.
  near_plan tracking_on(near_connection which);
  near_plan tracking_refused(near_connection which);
  /// The connection ended, or its server is not the one any more that the keys are read from.
  near_plan lost(near_connection which, clock::time_point now);
  near_coverage coverage(near_connection which) const;

  // The pushes of the server, and its PONG.

  /// One push, with the keys that it names.
  near_plan invalidated(near_connection which, std::span<std::string_view const> keys,
                        clock::time_point now);
  /// A push without keys: it means all.
  near_plan flushed(near_connection which, clock::time_point now);
  /// `pushes_before`: how many of these the connection had brought before it on the wire.
  near_plan pong(near_connection which, std::uint64_t number, std::uint64_t pushes_before,
                 clock::time_point now);
  /// The server refused the PING, or its answer did not come in time. The next one is due soon;
  /// behind that they go by the clock again: a server that refuses all is not asked more often.
  near_plan ping_refused(near_connection which, std::uint64_t number, clock::time_point now);

  // Reads.

  /// A read of the key is about to be sent. Nothing: its value is not to be kept, and the server
  /// need not track it.
  std::optional<near_stamp> read_sent(near_connection which, std::string_view key,
                                      clock::time_point now) const;
  /// The answer is about to be inserted. Nothing: it must not be. In a cluster a negative entry
  /// lives for max_staleness at most: its slot may move without a push.
  std::optional<near_entry> fill(std::string_view key, near_stamp const& stamp,
                                 near_answer const& answer, clock::time_point now) const;

  // Our own writes: whatever changes the key. Nothing of it is kept in between.

  /// The write is about to be sent.
  near_plan write_sent(std::string_view key);
  /// The write was answered, has failed, or is not waited for any more; before its caller is told.
  void write_ended(std::string_view key) { stamps_.write_ended(key); }
  /// We change everything (SWAPDB): when that is sent, and when it was answered. Or: the cache is
  /// closed.
  near_plan drop_all();

  // Slots of a cluster.

  /// MOVED, or the map names another owner. Before anything is read from the new one.
  near_plan slot_moved(std::uint16_t slot);
  /// ASK: the connection's server is giving keys of a slot away.
  near_plan asked(near_connection which);

  // The clock.

  /// Once last_fence(), as it is behind this call, has passed, every write that was acknowledged to
  /// anybody before the call is known here. That takes a round trip, two while another fence is
  /// under way; and with a server that hangs until its connection is not trusted any more, when
  /// what was read over it is dropped.
  near_plan fence(clock::time_point now);
  std::uint64_t last_fence() const noexcept { return last_fence_; }
  /// due() has come.
  near_plan timer(clock::time_point now);
  /// time_point::max() for never.
  clock::time_point due() const noexcept { return due_; }

 private:
  near_server* find(near_connection which);
  near_server const* find(near_connection which) const;
  near_plan cover(near_connection which, near_coverage how);
  void begin_fence(clock::time_point now, near_plan& out);
  void look_at_fence(clock::time_point now, near_plan& out);
  void wake_at(clock::time_point when) { due_ = std::min(due_, when); }
  void wake_for(near_server const& one);

  near_settings settings_;
  near_stamps stamps_;
  std::uint64_t last_connection_ = 0;
  std::uint64_t last_generation_ = 0;
  std::map<near_connection, near_server> servers_;
  // One fence is under way at a time, for all who have asked by then; others wait for the next.
  std::uint64_t last_fence_ = 0;
  std::uint64_t fence_under_way_ = 0;  // 0: none
  clock::time_point due_ = clock::time_point::max();
};

}  // namespace herdlock::algo
