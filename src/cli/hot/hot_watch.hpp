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

enum class hot_news { looked, failed, under_way, ending };

/// SIGINT, SIGTERM, SIGHUP and SIGQUIT end it with 128 + their number. Where a key or a closed
/// output is to do so, too, that is end().
class hot_watch {
 public:
  using told = std::function<void(hot_news news)>;

  hot_watch(hot_question asked, milliseconds interval);
  hot_watch(hot_watch const&) = delete;
  hot_watch& operator=(hot_watch const&) = delete;

  /// What runs while run() does, on its thread.
  boost::asio::io_context& io() { return io_; }
  hot_view const& view() const { return view_; }

  /// Returns the exit status. `on_news` is called for each change of the view; what it throws
  /// leaves run(). Throws command_error when the first look fails.
  int run(told on_news);

  /// The first one counts. A look that is under way is waited for.
  void end(int status);

 private:
  void took(result<survey> seen);
  void tell(hot_news news) const { on_news_(news); }
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
  bool looked_ = false;
  looker looker_;
};

}  // namespace herdlock::cli
