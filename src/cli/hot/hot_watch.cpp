#include "hot/hot_watch.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <herdlock/url.hpp>

#include "terminal/exit_code.hpp"

namespace herdlock::cli {
namespace {

// A look tells of its progress, and can be abandoned, ten times a second. One that hangs longer
// than this has nothing under way that fills the server.
constexpr milliseconds longest_stopping{500};

// Thrown through survey_store() by a look that nobody wants any more.
struct abandoned {};

// As if nobody handled it. In a group that no shell can continue it does nothing.
void be_stopped() {
  struct sigaction by_default {};
  struct sigaction ours {};
  by_default.sa_handler = SIG_DFL;
  ::sigaction(SIGTSTP, &by_default, &ours);
  ::raise(SIGTSTP);
  ::sigaction(SIGTSTP, &ours, nullptr);
}

}  // namespace

hot_watch::hot_watch(hot_question asked, milliseconds interval)
    : asked_(std::move(asked)),
      interval_(interval),
      signals_(io_, {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP},
               [this](int number) {
                 if (number == SIGTSTP) return stop_after_the_look();
                 end(128 + number);
               }),
      timer_(io_) {
  view_.store = value_or_raise(store_url::parse(asked_.url)).redacted();
  view_.source = asked_.request.source;
}

int hot_watch::run(std::function<void(hot_news)> on_news) {
  on_news_ = std::move(on_news);
  auto const work = boost::asio::make_work_guard(io_);
  io_.run();
  return *status_;
}

void hot_watch::go_on() {
  if (std::exchange(pace_, pace::going) != pace::going) look();
}

void hot_watch::tell(hot_news news) const {
  if (on_news_) on_news_(news);
}

// A server keeps for a stopped process what MONITOR tells, without a bound; and what would give the
// look up is stopped, too.
void hot_watch::stop_after_the_look() {
  if (std::exchange(pace_, pace::stopping) == pace::stopping) return;
  timer_.cancel();
  if (!under_way_) return stop_until_continued();
  thread_.request_stop();
  abandoned_ = true;
  timer_.expires_after(longest_stopping);
  timer_.async_wait([this](boost::system::error_code code) {
    if (!code && pace_ == pace::stopping) stop_until_continued();
  });
}

void hot_watch::stop_until_continued() {
  pace_ = pace::resting;
  tell(hot_news::stopping);
  be_stopped();
  tell(hot_news::continued);
}

void hot_watch::end(int status) {
  if (status_) {
    // The look may hang for as long as the store's timeouts let it.
    tell(hot_news::cut_short);
    ::_exit(*status_);
  }
  status_ = status;
  if (!under_way_) return io_.stop();
  thread_.request_stop();
  view_.ending = true;
  tell(hot_news::ending);
}

void hot_watch::took(result<survey> seen) {
  if (status_) return io_.stop();
  view_.percent.reset();
  if (std::exchange(abandoned_, false)) {
    if (pace_ == pace::stopping) return stop_until_continued();
    return look();
  }
  view_.elapsed = std::chrono::duration_cast<milliseconds>(clock::now() - began_);
  if (!std::exchange(looked_, true) && !seen) raise(seen.error());
  if (seen) {
    view_.seen = std::move(*seen);
    view_.trouble.clear();
  } else {
    view_.trouble = seen.error().message;
  }
  tell(seen ? hot_news::looked : hot_news::failed);
  if (status_) return;
  // From the end of a look: one that takes long leaves the server in peace for as long as any
  // other.
  timer_.expires_after(interval_);
  timer_.async_wait([this](boost::system::error_code code) {
    if (!code) look();
  });
}

void hot_watch::look() {
  if (status_ || pace_ != pace::going || under_way_) return;
  under_way_ = true;
  thread_ = std::jthread([this](std::stop_token const& stop) { ask(stop); });
  tell(hot_news::under_way);
}

// It ends when the store lets go of it: when it tells of its progress, or at the end.
void hot_watch::ask(std::stop_token const& stop) {
  survey_request request = asked_.request;
  request.on_progress = [this, &stop, told = -1](double done) mutable {
    if (stop.stop_requested()) throw abandoned();
    int const percent = static_cast<int>(100 * std::clamp(done, 0.0, 1.0));
    if (percent == std::exchange(told, percent)) return;
    boost::asio::post(io_, [this, percent] {
      view_.percent = percent;
      tell(hot_news::under_way);
    });
  };
  result<survey> seen = make_failure(errc::canceled, "the look was ended");
  std::exception_ptr thrown;
  try {
    seen = survey_store(asked_.url, request);
  } catch (abandoned const&) {
    // as it stands there
  } catch (...) {
    thrown = std::current_exception();
  }
  boost::asio::post(io_, [this, seen = std::move(seen), thrown]() mutable {
    thread_.join();
    under_way_ = false;
    if (thrown) std::rethrow_exception(thrown);
    took(std::move(seen));
  });
}

}  // namespace herdlock::cli
