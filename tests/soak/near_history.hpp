// What was written to one key and when, and how old what a reader saw was.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace herdlock_test {

/// One writer, who writes 1, 2, 3, … one after the other, each a value or "nothing"; any number of
/// readers.
class near_history {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  explicit near_history(std::size_t most) : writes_(most + 1) {}

  std::uint64_t next() const { return acknowledged_.load() + 1; }
  bool full() const { return next() >= writes_.size(); }
  /// The next one is nothing, and about to be sent.
  void nothing_follows() { nothing_on_its_way_ = true; }
  /// The server has said yes to the next one.
  void acknowledge(bool is_nothing) {
    auto const number = next();
    writes_[number].nothing = is_nothing;
    writes_[number].at = std::chrono::steady_clock::now();
    acknowledged_ = number;
    nothing_on_its_way_ = false;
  }
  std::uint64_t acknowledged() const { return acknowledged_; }

  /// How long ago, at `asked`, that what was seen had been replaced by a write that was
  /// acknowledged; nothing when it had not. Seen: the number of a value, or no number.
  std::optional<std::chrono::nanoseconds> age(std::optional<std::uint64_t> seen,
                                              std::uint64_t acknowledged, time_point asked) const {
    // A nothing that is on its way, or has been acknowledged meanwhile, may be seen already.
    if (!seen && nothing_on_its_way_) return std::nullopt;
    std::uint64_t at = seen ? *seen : acknowledged_.load();
    while (!seen && at > 0 && !writes_[at].nothing) --at;
    if (at == 0) return std::nullopt;  // nothing from before the first write
    if (at >= acknowledged) return std::nullopt;
    return asked - writes_[at + 1].at;
  }

 private:
  struct write {
    time_point at{};
    bool nothing = false;
  };

  std::vector<write> writes_;  // by number; filled up to acknowledged_
  std::atomic<std::uint64_t> acknowledged_{0};
  std::atomic<bool> nothing_on_its_way_{false};
};

/// What the readers of one case came to.
struct near_figures {
  std::atomic<std::uint64_t> reads{0}, errors{0}, stale{0}, stale_behind_fence{0},
      stale_a_second{0};
  std::atomic<std::int64_t> oldest_ns{0};
  std::atomic<std::uint64_t> hits{0}, of_hits{0};  // near hits, of all answers

  void note(std::optional<std::chrono::nanoseconds> age, bool behind_fence) {
    ++reads;
    if (!age) return;
    ++stale;
    if (behind_fence) ++stale_behind_fence;
    if (*age > std::chrono::seconds(1)) ++stale_a_second;
    auto oldest = oldest_ns.load();
    while (age->count() > oldest && !oldest_ns.compare_exchange_weak(oldest, age->count())) {
    }
  }

  void print(char const* name, std::uint64_t events, char const* event) const {
    std::printf(
        "%-9s %llu %s, %llu reads, %llu errors, near hits %.1f %%; %llu older than the last write "
        "that was acknowledged, by %.1f ms at most, %llu by more than a second; behind a fence "
        "%llu\n",
        name, static_cast<unsigned long long>(events), event,
        static_cast<unsigned long long>(reads), static_cast<unsigned long long>(errors),
        of_hits == 0 ? 0.0 : 100.0 * double(hits) / double(of_hits),
        static_cast<unsigned long long>(stale), double(oldest_ns) / 1e6,
        static_cast<unsigned long long>(stale_a_second),
        static_cast<unsigned long long>(stale_behind_fence));
  }
};

}  // namespace herdlock_test
