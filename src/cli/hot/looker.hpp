// A look at a store blocks: one at a time, on a thread of its own.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <stop_token>
#include <thread>

#include "hot/hot_question.hpp"

namespace herdlock::cli {

/// Its handlers are called by the io_context, which has to outlive it. Use it from that thread.
class looker {
 public:
  using done_handler = std::function<void(result<survey>)>;
  using progress_handler = std::function<void(int percent)>;

  looker(boost::asio::io_context& io, hot_question const& asked, done_handler on_done,
         progress_handler on_progress);
  /// Waits for the look that is under way, which is told to end.
  ~looker() = default;
  looker(looker const&) = delete;
  looker& operator=(looker const&) = delete;

  /// None may be under way.
  void start();
  bool under_way() const { return under_way_; }
  /// Its handler is called all the same, as soon as the store lets go of it: when it tells of its
  /// progress, or at the end.
  void abandon() { thread_.request_stop(); }

 private:
  void look(std::stop_token const& stop);

  boost::asio::io_context& io_;
  hot_question const& asked_;
  done_handler const on_done_;
  progress_handler const on_progress_;
  bool under_way_ = false;
  std::jthread thread_;
};

}  // namespace herdlock::cli
