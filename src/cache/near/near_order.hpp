// The choice of what makes room in the near table: SIEVE (Zhang and others, NSDI 2024).
//
//   newest ──▶ … ──▶ hand ──▶ … ──▶ oldest
//
// A hit sets one bit of its entry, if it is not set. The hand goes from the oldest to the newest
// and around: it takes the bit of what was hit and stops at what was not. Unlike CLOCK it leaves
// the survivors where they are, so that it meets what came since before them once it goes on: an
// entry that is never hit is the first to go.
//
// Not for several threads at once; hits do not come here.
#pragma once

#include <boost/intrusive/list.hpp>

#include "cache/near/near_record.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {

class near_order {
 public:
  /// The hand looks at no more entries at a time; then it takes the next, whatever it is. Bounds
  /// what one insert can cost.
  static constexpr std::size_t most_looks = 1000;

  std::size_t size() const noexcept { return records_.size(); }

  near_order() noexcept {}
  near_order(near_order const&) = delete;
  near_order& operator=(near_order const&) = delete;

  void add(near_record& record) noexcept { records_.push_front(record); }
  void remove(near_record& record) noexcept;

  /// The record that is to go: the next that is gone by `now` anyhow, or was not hit and nothing
  /// rests on it. There must be one.
  near_record& victim(clock::time_point now) noexcept;

  /// The first of the next `looks` entries, one after the other and around, that is gone by `now`;
  /// null when there is none. Takes what it looked at off `looks`.
  near_record* next_gone(clock::time_point now, std::size_t& looks) noexcept;

  /// The same with the first that was hit since it was found here last.
  near_record* next_used(clock::time_point now, std::size_t& looks) noexcept;

  /// The next record after the other and around, to judge them all. Null: there is none.
  near_record* next() noexcept { return records_.empty() ? nullptr : &step(judge_); }
  /// next() goes on from the oldest: records that come meanwhile are behind all that are there.
  void begin_again() noexcept { judge_ = records_.end(); }

  /// There must be one.
  near_record& oldest() noexcept { return records_.back(); }

 private:
  using list = boost::intrusive::list<
      near_record, boost::intrusive::member_hook<near_record, near_hook, &near_record::in_order>>;

  near_record& step(list::iterator& at) noexcept;
  template <class Condition>
  near_record* next_that(list::iterator& at, std::size_t& looks, Condition holds) noexcept;

  list records_;
  // Each is at the record that comes next; end() for the oldest.
  list::iterator hand_ = records_.end();
  list::iterator broom_ = records_.end();
  list::iterator user_ = records_.end();
  list::iterator judge_ = records_.end();
};

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
