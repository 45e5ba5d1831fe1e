// Looks again and again, until somebody ends it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>

#include "hot/hot_question.hpp"
#include "hot/hot_table.hpp"
#include "hot/looker.hpp"

namespace herdlock::cli {

enum class hot_news {
  looked,
  failed,
  under_way,
  ending,     ///< when the look that is under way has ended
  cut_short,  ///< the process ends when the handler of this returns
  stopping,   ///< the process is stopped (SIGTSTP) when the handler of this returns
  continued,  ///< after that; go_on() looks again
};

/// SIGINT, SIGTERM, SIGHUP and SIGQUIT end it with 128 + their number, those that were ignored when
/// it was made do not. Where a key or a closed output is to do so, too, that is end().
class hot_watch {
 public:
  using told = std::function<void(hot_news news)>;

  hot_watch(hot_question asked, milliseconds interval);
  hot_watch(hot_watch const&) = delete;
  hot_watch& operator=(hot_watch const&) = delete;

  /// Looks from now on, if it does not yet: at first, and after it was stopped.
  void go_on();

  /// What runs while run() does, on its thread.
  boost::asio::io_context& io() { return io_; }
  hot_view const& view() const { return view_; }

  /// Returns the exit status. `on_news` is called for each change of the view; what it throws
  /// leaves run(). Throws command_error when the first look fails.
  int run(told on_news);

  /// A look that is under way is waited for; by the second call not any more. The first status
  /// counts.
  void end(int status);

 private:
  // It looks; it does not begin a look, and is stopped when the last one has ended; it only waits.
  enum class pace { going, stopping, resting };

  void await_signal();
  void stop_after_the_look();
  void stop_until_continued();
  void look();
  void took(result<survey> seen);
  void tell(hot_news news) const;
  void look_later();

  hot_question const asked_;
  milliseconds const interval_;
  clock::time_point const began_ = clock::now();
  boost::asio::io_context io_;
  boost::asio::signal_set signals_;
  boost::asio::steady_timer timer_;
  told on_news_;
  hot_view view_;
  std::optional<int> status_;
  std::optional<failure> refused_;
  pace pace_ = pace::resting;
  bool looked_ = false;
  bool abandoned_ = false;  // the look that is under way: nobody wants its answer
  looker looker_;
};

}  // namespace herdlock::cli
