// A candidate, as a state machine over a table. Work runs from `start_work` until `stopped`, and
// that only between a grant and what follows it: nothing is asked of the store for the next term,
// and nothing of this one is given back, while anything works.
//
// Each question to the store opens a new round. A report of the lease, the work, the rest and the
// release of a round carries its number, and counts in that round only: a late word of an earlier
// term never makes, keeps or ends a leader (B14, B15).
//
// Pure: no clock, no store. The lease below has its own machine, which renews and knows when the
// term is lost; `lost` comes so long before the end as the work needs to stop.
// Why: docs/decisions/election.md#an-election-is-a-table
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include <herdlock/election_state.hpp>

namespace herdlock::algo {

/// The action that the driver takes.
enum class election_action {
  none,
  acquire,     ///< ask the store for a new term
  withdraw,    ///< take the question back
  start_work,  ///< the caller's start_work
  stop_work,   ///< the stop token, the cancellation, and the caller's stop_work
  rest,        ///< give back what is left of the term, and wait for the back-off
  release,     ///< give the term back
  warn,        ///< tell that work runs outside its term
  finish,      ///< complete the campaign
};

std::string_view to_string(election_action action) noexcept;

struct election_row {
  election_state state;
  election_event event;
  election_state next;
  election_action action;
};

/// An event without a row here changes nothing.
inline constexpr auto election_table = [] {
  using enum election_state;
  using enum election_event;
  using enum election_action;
  // clang-format off
  return std::to_array<election_row>({
      //  in          on         becomes      and does
      {idle,        campaign,  acquiring,   acquire},
      {acquiring,   granted,   working,     start_work},
      {acquiring,   failed,    waiting,     rest},
      {acquiring,   refused,   releasing,   release},
      {acquiring,   resign,    withdrawing, withdraw},
      {working,     lost,      pausing,     stop_work},
      {working,     finished,  pausing,     stop_work},
      {working,     resign,    cleanup,     stop_work},
      {pausing,     stopped,   waiting,     rest},
      {pausing,     overdue,   pausing,     warn},
      {pausing,     resign,    cleanup,     none},
      {waiting,     rested,    acquiring,   acquire},
      {waiting,     resign,    releasing,   release},
      {withdrawing, granted,   releasing,   release},
      {withdrawing, failed,    releasing,   release},
      {withdrawing, refused,   releasing,   release},
      {cleanup,     stopped,   releasing,   release},
      {cleanup,     overdue,   cleanup,     warn},
      {releasing,   released,  idle,        finish},
  });
  // clang-format on
}();

class election_machine {
 public:
  /// Takes an event that the present round reports, or that the caller asks for. Returns the row
  /// that was taken; nothing if the table has none for it.
  std::optional<election_row> on(election_event event);
  /// The same for an event of `round`; nothing if that is not the present round.
  std::optional<election_row> on(election_event event, std::uint64_t round);
  /// The caller's last word: a resignation, behind which no campaign begins any more. It counts
  /// whether one has begun or not.
  std::optional<election_row> close();

  bool closed() const { return closed_; }
  election_state state() const { return state_; }
  std::uint64_t round() const { return round_; }

 private:
  election_state state_ = election_state::idle;
  std::uint64_t round_ = 0;
  bool closed_ = false;
};

}  // namespace herdlock::algo
