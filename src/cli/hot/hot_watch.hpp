// Looks again and again, until somebody ends it.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <thread>

#include "common/json_text.hpp"
#include "common/signal_watch.hpp"
#include "hot/hot_table.hpp"

namespace herdlock::cli {

/// What is asked of a store, checked.
struct hot_question {
  std::string url;
  survey_request request;
};

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
  hot_watch(hot_question asked, milliseconds interval);

  /// Looks from now on, if it does not yet: at first, and after it was stopped.
  void go_on();

  /// What runs while run() does, on its thread.
  boost::asio::io_context& io() { return io_; }
  hot_view const& view() const { return view_; }

  /// Returns the exit status. `on_news` is called for each change of the view; what it throws
  /// leaves run(). Throws command_error when the first look fails.
  int run(std::function<void(hot_news)> on_news);

  /// A look that is under way is waited for; by the second call not any more. The first status
  /// counts.
  void end(int status);

 private:
  // It looks; it does not begin a look, and is stopped when the last one has ended; it only waits.
  enum class pace { going, stopping, resting };

  void stop_after_the_look();
  void stop_until_continued();
  void look();
  void ask(std::stop_token const& stop);
  void took(result<survey> seen);
  void tell(hot_news news) const;

  hot_question const asked_;
  milliseconds const interval_;
  clock::time_point const began_ = clock::now();
  boost::asio::io_context io_;
  signal_watch signals_;
  boost::asio::steady_timer timer_;
  std::function<void(hot_news)> on_news_;
  hot_view view_;
  std::optional<int> status_;
  pace pace_ = pace::resting;
  bool looked_ = false;
  bool abandoned_ = false;  // the look that is under way: nobody wants its answer
  bool under_way_ = false;
  std::jthread thread_;  // of the look that is under way: it blocks
};

/// On a terminal: a live screen, until q, Ctrl-D, the end of the terminal (all 0), or a signal. The
/// terminal is as it was then, and while it is stopped (Ctrl-Z). Returns the exit status; throws
/// command_error.
int watch_on_screen(hot_question const& asked, milliseconds interval);
/// Where there is no screen: a line for each key of each look, or a list in one line.
int watch_in_lines(hot_question const& asked, milliseconds interval, output_form form);

}  // namespace herdlock::cli
