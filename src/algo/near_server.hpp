// One connection to a server, for the near cache: the generations of what is read over it, and for
// how long they may be served. Part of near_machine. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "algo/connection_trust.hpp"
#include "algo/near_actions.hpp"

namespace herdlock::algo {

class near_server {
 public:
  /// `last_generation` is shared by all of one machine.
  near_server(near_connection which, clock::time_point asked, near_settings const& settings,
              std::uint64_t& last_generation)
      : which_(which),
        settings_(settings),
        last_generation_(last_generation),
        trust_(asked, settings.max_staleness) {}

  /// REQUIRES: coverage() is off, `how` is not.
  void cover(near_coverage how, near_plan& out);
  near_coverage coverage() const noexcept { return coverage_; }

  /// Values that were read over it are not served any more, and those on their way are not kept.
  void end(near_plan& out) const;
  /// The same; values that are read from now on may be kept.
  void renew(near_plan& out);
  /// The same for negative entries alone, where a slot may move.
  void renew_negatives(near_plan& out);

  std::optional<near_stamp> stamp(std::uint64_t of_key, clock::time_point now) const;
  /// The entry for an answer to a read under this stamp; others compare the stamp of the key.
  std::optional<near_entry> entry(near_stamp const& stamp, near_answer const& answer,
                                  clock::time_point now) const;

  void push_handled(near_plan& out);
  void pong(std::uint64_t number, std::uint64_t pushes_before, near_plan& out);
  /// Values that were read over it are not served any more. Later reads may be, once a later PING
  /// is answered.
  void ping_refused(std::uint64_t number, clock::time_point now, near_plan& out);
  /// A PING, if one is due.
  void regular_ping(clock::time_point now, near_plan& out);
  clock::time_point next_ping() const noexcept { return trust_.next_ping(); }
  clock::time_point trusted_until() const noexcept { return trust_.until(); }

  /// True: a PING is sent whose answer proves all that was acknowledged before; fence_waits() until
  /// then. False: it would prove nothing in time; what was read before is dropped instead.
  bool fence(clock::time_point now, near_plan& out);
  bool fence_waits() const noexcept { return trust_.believed() < fence_ping_; }
  /// No answer in time. As if fence() had been false.
  void fence_lapses(near_plan& out);

 private:
  void begin(near_plan& out);
  void say_trust(near_plan& out) const;
  void ping(clock::time_point now, near_plan& out);

  near_connection which_;
  near_settings const& settings_;
  std::uint64_t& last_generation_;
  connection_trust trust_;
  near_coverage coverage_ = near_coverage::off;
  near_generation values_{};
  near_generation negatives_{};  // the same with one server
  std::uint64_t last_ping_ = 0;
  std::uint64_t fence_ping_ = 0;  // whose answer the fence waits for, or waited
};

}  // namespace herdlock::algo
