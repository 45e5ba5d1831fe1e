// The historical lock of SETNX, a timestamp and GETSET, as a pure machine: which command is next.
//
// The key holds the Unix time, in whole seconds, from which on the lock is not valid any more. That
// is `now + ttl + skew`, rounded up (with skew 1 s the "current Unix time + lock timeout + 1" of
// Redis's documentation). Behind the number stands the owner's mark, in blanks, which every reader
// of numbers skips (strtol, strtod, int(), float(), to_i, Number): it makes our value ours.
//
//   acquire   SETNX; else GET: expired? then GETSET (the bid): expired still? then ours, and
//             GETSET once more (the confirmation)
//   renew     GET: ours and not over? then GETSET: ours still? then renewed
//   release   GET: ours and not over? then DEL
//
// Why two marks, `bid` and `held`. Those who found the key expired together all send a GETSET; one
// reads back an expired time and has won, the others read the winner's and have lost, but each has
// overwritten what was there. So a value with an owner's bid proves nothing: its writer may have
// lost, or never have got the answer. It is never taken for a grant, and never deleted. The winner
// writes again with its held mark, which also puts right what faster losers have overwritten.
//
// Between clocks that differ by up to `skew`, each side gives way to the other. A lease of ours is
// over `skew` before its key says so: only until then do we delete and renew, and nobody whose
// clock is ahead takes over. A key is expired to us `skew` after its time: until then its writer,
// whose clock may be behind, still works and deletes.
//
// Two gaps stay open, because the steps are apart (docs/stores/redis-dialects.md has them for
// users): a loser's GETSET that arrives after the confirmation (the holder is told `lost` at its
// next renewal; if the loser's ttl is shorter, the key ends too soon); a DEL that is under way
// longer than `skew`.
// Why: docs/stores/redis-dialects.md#the-mark-stands-in-blanks-behind-the-time
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <herdlock/types.hpp>

namespace herdlock::algo {

/// A wall clock's time since 1970.
using unix_time = milliseconds;

enum class getset_verb { acquire, renew, release, inspect, force_release };

/// The marks behind the number: blanks and tabs, different for each owner and use.
struct getset_marks {
  std::string held;
  std::string bid;
};

struct getset_times {
  milliseconds ttl{0};   ///< of acquire and renew
  milliseconds skew{0};  ///< by which the clients' clocks may differ
};

/// The command to send next; `finish`: there is an outcome.
struct getset_action {
  enum class kind { set_if_absent, get, get_and_set, remove, finish };
  kind what;
  std::string value{};
};

/// The reply to a command.
struct getset_reply {
  bool done = false;                   ///< SETNX: it was set; DEL: there was one
  std::optional<std::string> value{};  ///< GET, GETSET: what was there
};

enum class getset_outcome { granted, held_already, busy, renewed, released, lost, held, free };

/// The time in a stored value, with or without a fraction and blanks around it; nothing when it is
/// no number of seconds, or one beyond the year 5138 (milliseconds: another unit).
std::optional<unix_time> parse_getset_stamp(std::string_view stored);

/// One operation; begin() once, then resume() with each reply until it says `finish`.
class getset_machine {
 public:
  getset_machine(getset_verb verb, getset_marks marks, getset_times times)
      : verb_(verb), marks_(std::move(marks)), times_(times) {}

  getset_action begin(unix_time now);
  getset_action resume(getset_reply const& reply, unix_time now);

  getset_outcome outcome() const { return outcome_; }
  /// busy, held: until it can be taken over, 0 when unknown. held_already: until our lease is over.
  milliseconds remaining() const { return remaining_; }

 private:
  enum class step { set, look, bid, confirm, look_before, renew, undo, remove };

  getset_action after_look(getset_reply const& reply, unix_time now);
  getset_action after_bid(getset_reply const& reply, unix_time now);
  getset_action after_look_before(getset_reply const& reply, unix_time now);
  getset_action after_renew(getset_reply const& reply);
  getset_action go(step next, getset_action::kind what, std::string value = {});
  getset_action finish(getset_outcome outcome, milliseconds remaining = milliseconds(0));

  /// Whether a taker may take the key over; and how long until then.
  bool is_expired(std::optional<unix_time> end, unix_time now) const;
  milliseconds left_of(std::optional<unix_time> end, unix_time now) const;
  std::string stamp(unix_time now, std::string const& mark) const;
  bool is_held_by_us(std::string_view stored) const;
  /// The end of our lease; nothing if the key is not ours, or the lease is over.
  std::optional<unix_time> our_end(getset_reply const& reply, unix_time now) const;

  getset_verb verb_;
  getset_marks marks_;
  getset_times times_;
  step step_ = step::set;
  int rounds_ = 0;
  getset_outcome outcome_ = getset_outcome::lost;
  milliseconds remaining_{0};
};

}  // namespace herdlock::algo
