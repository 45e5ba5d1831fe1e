// The listeners to what a store is asked for again and again: each hears what is newer than all
// that it has heard.
//
// Pure: the driver asks the store for the rows behind from(), and gives them to tell().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace herdlock::algo {

/// A message that was told on a topic. `at` grows from one to the next, over all topics.
struct told_row {
  std::int64_t at = 0;
  std::string topic;
  std::string text;
};

/// An answer of the store.
struct told_rows {
  std::int64_t from = 0;     ///< the rows behind this one were asked for
  std::int64_t through = 0;  ///< up to this one there are none but `rows`
  std::vector<told_row> rows;
  bool more = false;  ///< perhaps, behind `through`
};

class told_listeners {
 public:
  struct listener {
    std::string topic;
    std::weak_ptr<void> alive;  ///< the listener has gone when this has
    std::function<void(told_row const&)> hear;
  };

  void add(listener one);
  void drop_gone();
  bool empty() const noexcept { return all_.empty(); }
  /// The row behind which the store is to be asked: 0 when a listener has heard nothing yet.
  std::int64_t from() const noexcept;
  /// Tells the listeners. Those who came while the question was under way hear the answer, too, if
  /// it was for all rows. Listeners may be added meanwhile.
  void tell(told_rows const& found);

 private:
  struct state {
    listener who;
    std::int64_t heard = 0;
  };

  std::vector<std::shared_ptr<state>> all_;
};

}  // namespace herdlock::algo
