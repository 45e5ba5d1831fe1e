// What the candidates of `bench takeover` share: orders, states, and the guarded thing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include <herdlock/election_state.hpp>

namespace herdlock::cli {

/// Lives in memory that all processes map, so it has lock-free atomics only. It knows nothing of
/// leases: an act in an older term than one that has acted is refused, and counted; so is a work
/// that begins while another one runs, unless that one's process is frozen or dead.
class takeover_board {
 public:
  static constexpr int candidates = 3;
  static constexpr int nobody = -1;

  struct seat {
    std::atomic<herdlock::election_state> state{};
    std::atomic<std::int64_t> since_ns{0};     ///< in that state
    std::atomic<std::uint64_t> working{0};     ///< the term of the work that runs; 0: none
    std::atomic<std::uint64_t> begun_term{0};  ///< of the last work
    std::atomic<std::int64_t> begun_ns{0};     ///< its first act
    std::atomic<std::int64_t> ended_ns{0};     ///< when it returned
    std::atomic<std::int64_t> resigned_ns{0};  ///< when resign() was called
    std::atomic<bool> resign{false};           ///< an order
    std::atomic<bool> stand{true};             ///< an order
  };

  /// Throws command_error (internal) when there is no memory.
  static takeover_board& in_shared_memory();

  // The work's side.
  void begin(int who, std::uint64_t term);
  void act(std::uint64_t term);
  void end(int who);
  void complain(std::string_view text);

  /// A new place for a process that was killed.
  void clear(int who);
  /// The one that works in the highest term; nobody while none does.
  int leader() const;

  seat& at(int who) { return seats_.at(static_cast<std::size_t>(who)); }
  seat const& at(int who) const { return seats_.at(static_cast<std::size_t>(who)); }
  std::uint64_t highest() const { return highest_.load(); }
  std::int64_t overlaps() const { return overlaps_.load(); }
  std::int64_t acts() const { return acts_.load(); }
  std::string_view complaint() const { return {complaint_.data()}; }

  std::atomic<int> excused{nobody};  ///< frozen or dead: cannot act, its work does not count
  std::atomic<bool> over{false};

 private:
  std::array<seat, candidates> seats_;
  std::atomic<std::uint64_t> highest_{0};
  std::atomic<std::int64_t> overlaps_{0};
  std::atomic<std::int64_t> acts_{0};
  std::atomic<bool> complained_{false};
  std::array<char, 512> complaint_{};
};

}  // namespace herdlock::cli
