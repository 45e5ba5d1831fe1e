// What a lock protects. It sees who comes in, and knows by itself whether the lock was kept.
#pragma once

#include <herdlock/lease.hpp>

#include "stage/shared.hpp"

namespace herdlock::lab {

/// In memory that processes share; any thread of any of them comes in. It never asks the store.
class guarded_thing {
  using count = std::atomic<std::int64_t>;
  static_assert(count::is_always_lock_free);

 public:
  /// Until leave(), whatever becomes of the lease.
  static constexpr clock::time_point until_it_leaves = clock::time_point::max();
  /// Who has died inside has a spot, too. Whoever finds none is an overlap.
  static constexpr std::size_t spots = 16;

  struct findings {
    std::int64_t entries = 0;
    std::int64_t overlaps = 0;    ///< entered while another was inside
    std::int64_t steps_back = 0;  ///< entered with a fencing token that was not larger than all
    std::int64_t lost = 0;        ///< left with a lease that had ended
    std::int64_t refused = 0;     ///< writes behind the entry of a later holder
    std::int64_t writes = 0;

    findings& operator+=(findings const& more) {
      for (auto const each : {&findings::entries, &findings::overlaps, &findings::steps_back,
                              &findings::lost, &findings::refused, &findings::writes}) {
        this->*each += more.*each;
      }
      return *this;
    }
  };

  /// The spot where it stands. A token of 0 is none: the store does not fence (`?dialect=plain`).
  std::size_t enter(std::uint64_t fencing, clock::time_point until = until_it_leaves) {
    return enter(fencing, until, nullptr);
  }
  /// Others are kept out while the lease is valid: as long as stay() is not called, until the end
  /// that it has now.
  std::size_t enter(lease const& held) {
    return enter(held.fencing().value, held.valid_until(), &held);
  }

  /// The lease goes on to its present end, or has ended.
  void stay(std::size_t spot, lease const& held) {
    if (held.valid()) return stay(spot, held.valid_until());
    end(spot);
  }
  void stay(std::size_t spot, clock::time_point until) {
    if (spot == spots) return;
    auto seen = until_ns_[spot].load();
    while (seen != ended && !until_ns_[spot].compare_exchange_weak(seen, ns(until))) {
    }
  }
  /// The lease has ended, and keeps nobody out any more.
  void end(std::size_t spot) {
    if (spot != spots) until_ns_[spot] = ended;
  }
  void leave(std::size_t spot) {
    if (spot != spots) until_ns_[spot] = nobody;
  }
  void leave(std::size_t spot, lease const& held) {
    lost_ += !held.valid();
    leave(spot);
  }

  /// Reads, then writes: what two do at once counts once.
  void increment() {
    writes_.store(writes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// Refuses, and returns false, behind the entry of a later holder.
  bool write(std::uint64_t fencing) {
    if (fencing < highest_) {
      ++refused_;
      return false;
    }
    increment();
    return true;
  }

  std::int64_t writes() const { return writes_; }
  std::uint64_t highest() const { return highest_; }
  /// Somebody is inside, with or without a lease.
  bool occupied() const {
    return std::ranges::any_of(until_ns_, [](count const& each) { return each != nobody; });
  }
  findings seen() const { return {entries_, overlaps_, steps_back_, lost_, refused_, writes_}; }

 private:
  static constexpr std::int64_t nobody = 0;
  static constexpr std::int64_t ended = 1;

  static std::int64_t ns(clock::time_point at) { return at.time_since_epoch().count(); }

  std::size_t enter(std::uint64_t fencing, clock::time_point until, lease const* held) {
    ++entries_;
    auto const spot = take_spot(ns(until));
    // The other's lease is looked at first and ours second: had its end come between the two, ours
    // would still have been granted while it was valid.
    bool const is_shared = spot == spots || another_holds(spot);
    overlaps_ += is_shared && (held == nullptr || held->valid());
    auto highest = highest_.load();
    while (highest < fencing && !highest_.compare_exchange_weak(highest, fencing)) {
    }
    steps_back_ += fencing != 0 && highest >= fencing;
    return spot;
  }

  std::size_t take_spot(std::int64_t until) {
    auto const taken = std::ranges::find_if(until_ns_, [until](count& each) {
      std::int64_t expected = nobody;
      return each.compare_exchange_strong(expected, until);
    });
    return static_cast<std::size_t>(taken - until_ns_.begin());
  }
  bool another_holds(std::size_t spot) const {
    return std::ranges::any_of(until_ns_, [&](count const& other) {
      auto const until = other.load();
      return &other != until_ns_.data() + spot && until > ns(clock::now());
    });
  }

  std::array<count, spots> until_ns_{};
  std::atomic<std::uint64_t> highest_{0};
  count entries_{0}, overlaps_{0}, steps_back_{0}, lost_{0}, refused_{0}, writes_{0};
};

/// What some of them have seen together.
template <class Things>
guarded_thing::findings seen_by_all(Things const& things) {
  guarded_thing::findings all;
  for (guarded_thing const& each : things) all += each.seen();
  return all;
}

}  // namespace herdlock::lab
