// What the processes of `herdlock demo near` share: which change was acknowledged when, and what
// each reader was answered. It knows nothing of caches: an answer is a number and two times.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "stage/complaint.hpp"
#include "stage/shared_array.hpp"

namespace herdlock::cli {

/// What the processes are at. It only goes on.
enum class near_stage : int {
  starting,  ///< the writer writes what stands in front of the first change, the readers begin
  changing,  ///< the writer writes, the readers read
  settling,  ///< nothing is written any more
  ending,    ///< the readers end
  clearing,  ///< the writer takes the value away, and ends
};

/// What one reader did.
struct reader_record {
  using count = std::atomic<std::int64_t>;
  static_assert(count::is_always_lock_free);

  std::atomic<bool> ready{false};
  count served{0};        ///< the latest change that it was answered
  count answered_ns{0};   ///< when its latest answer came
  count failed_ns{0};     ///< and its latest error
  count reads{0};         ///< answered, those behind a fence, too
  count gone{0};          ///< of these: there is no value
  count failures{0};      ///< not answered
  count fenced{0};        ///< reads behind a fence
  count stale_fenced{0};  ///< of these, older than a change acknowledged before the fence
  count near_hits{0};     ///< as its cache counts; told at its end
};

/// Made before the processes are forked. Changes are numbered from 1 (0 is what stands there before
/// them), readers from 0. Times are those of the steady clock, in nanoseconds; 0: not yet.
class near_board {
 public:
  near_board(std::size_t readers, std::size_t changes);

  std::size_t readers() const { return records_.size(); }
  std::int64_t most_changes() const { return static_cast<std::int64_t>(acknowledged_.size()) - 1; }
  reader_record& reader(std::size_t n) { return records_[n]; }
  reader_record const& reader(std::size_t n) const { return records_[n]; }

  near_stage stage() const { return head_[0].stage; }
  void go_on_to(near_stage next) { head_[0].stage = next; }
  /// There is something to be read.
  bool begun() const { return head_[0].begun; }
  void begin() { head_[0].begun = true; }
  /// The writer has heard that nothing is to be written any more.
  bool settled() const { return head_[0].settled; }
  void settle() { head_[0].settled = true; }

  // The writer.

  /// The server has said yes to the next change.
  void acknowledge(std::int64_t at_ns);
  /// The number of the latest change that was acknowledged; 0: none.
  std::int64_t acknowledged() const { return head_[0].acknowledged; }
  std::int64_t acknowledged_at(std::int64_t change) const;
  /// The server has not said yes in time. The change is written again.
  void note_failed_write() { ++head_[0].failed_writes; }
  std::int64_t failed_writes() const { return head_[0].failed_writes; }

  // A reader: the thread of it that reads without fences.

  struct answer {
    std::int64_t change = 0;
    std::int64_t acknowledged = 0;  ///< as it was before the call
    std::int64_t asked_ns = 0;
    std::int64_t answered_ns = 0;
  };
  void note(std::size_t reader, answer const& got);

  // The same reader's thread that reads behind fences.

  /// `acknowledged` and `asked_ns`: as they were before the fence.
  void note_fenced(std::size_t reader, answer const& got);

  /// When the reader was first answered with this change, or a later one.
  std::int64_t seen_at(std::size_t reader, std::int64_t change) const;
  /// For how long behind the change the reader was answered with an older one; 0: never.
  std::int64_t old_for(std::size_t reader, std::int64_t change) const;
  /// When the reader last asked for a fence before the change was acknowledged, and was answered
  /// before it, too: by then its connection did well. 0: never since the change before.
  std::int64_t did_well_at(std::size_t reader, std::int64_t change) const;

  complaint& why() { return head_[0].why; }
  complaint const& why() const { return head_[0].why; }

 private:
  using time = std::atomic<std::int64_t>;
  struct head {
    std::atomic<near_stage> stage{near_stage::starting};
    std::atomic<bool> begun{false};
    std::atomic<bool> settled{false};
    std::atomic<std::int64_t> acknowledged{0};
    std::atomic<std::int64_t> failed_writes{0};
    complaint why;
  };

  std::size_t index(std::size_t reader, std::int64_t change) const {
    return reader * acknowledged_.size() + static_cast<std::size_t>(change);
  }

  shared_array<head> head_;
  shared_array<reader_record> records_;
  shared_array<time> acknowledged_;  // by change
  shared_array<time> seen_;          // by reader and change
  shared_array<time> old_;           // the same
  shared_array<time> did_well_;      // the same
};

}  // namespace herdlock::cli
