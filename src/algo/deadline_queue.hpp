// Things that are due at a time, the soonest first.
#pragma once

#include <boost/intrusive/set.hpp>
#include <boost/intrusive/set_hook.hpp>

namespace herdlock::algo {

template <class Clock>
class deadline_queue;

/// Something that is to be called at a time. Intrusive: listing it allocates nothing, and one that
/// is destroyed is listed no more.
template <class Clock>
class timed : public boost::intrusive::set_base_hook<
                  boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  using time_point = typename Clock::time_point;

  time_point due() const { return due_; }
  bool scheduled() const { return this->is_linked(); }

  /// Called with it out of the queue; it may be added again.
  virtual void on_due(time_point now) = 0;

  friend bool operator<(timed const& a, timed const& b) { return a.due_ < b.due_; }

 protected:
  timed() = default;
  timed(timed const&) = delete;
  timed& operator=(timed const&) = delete;
  virtual ~timed() = default;

 private:
  friend class deadline_queue<Clock>;
  time_point due_{};
};

/// O(log n). If several entries are due at the same time, the one that was added first is first.
template <class Clock>
class deadline_queue {
 public:
  using entry = timed<Clock>;
  using time_point = typename Clock::time_point;

  /// Moves it when it is in the queue already.
  void add(entry& one, time_point when) {
    one.unlink();
    one.due_ = when;
    // Most often it is the last: then it costs nothing to find its place.
    entries_.insert(entries_.end(), one);
  }
  static void remove(entry& one) { one.unlink(); }
  void clear() { entries_.clear(); }

  bool empty() const { return entries_.empty(); }
  /// Null when there is none.
  entry* first() { return empty() ? nullptr : &*entries_.begin(); }
  /// When the first is due; time_point::max() when nothing is due ever.
  time_point next() const { return empty() ? time_point::max() : entries_.begin()->due_; }

  /// Calls what is due, also what is added meanwhile. One that throws is out of the queue; the
  /// others stay in it.
  void run(time_point now) {
    while (!empty() && next() <= now) {
      entry& one = *entries_.begin();
      one.unlink();
      one.on_due(now);
    }
  }

 private:
  boost::intrusive::multiset<entry, boost::intrusive::constant_time_size<false>> entries_;
};

}  // namespace herdlock::algo
