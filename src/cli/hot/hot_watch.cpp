#include "hot/hot_watch.hpp"

#include <signal.h>

#include <boost/asio/executor_work_guard.hpp>
#include <utility>

#include "common/exit_code.hpp"

namespace herdlock::cli {

hot_watch::hot_watch(hot_question asked, milliseconds interval)
    : asked_(std::move(asked)),
      interval_(interval),
      signals_(io_, SIGINT, SIGTERM, SIGHUP),
      timer_(io_),
      looker_(
          io_, asked_, [this](result<survey> seen) { took(std::move(seen)); },
          [this](int percent) {
            view_.percent = percent;
            tell(hot_news::under_way);
          }) {
  signals_.add(SIGQUIT);
  view_.store = asked_.shown;
  view_.source = asked_.request.source;
}

int hot_watch::run(told on_news) {
  on_news_ = std::move(on_news);
  signals_.async_wait([this](boost::system::error_code code, int number) {
    if (!code) end(128 + number);
  });
  auto const work = boost::asio::make_work_guard(io_);
  looker_.start();
  tell(hot_news::under_way);
  io_.run();
  if (refused_) raise(*refused_);
  return *status_;
}

void hot_watch::end(int status) {
  if (status_) return;
  status_ = status;
  if (!looker_.under_way()) return io_.stop();
  looker_.abandon();
  view_.ending = true;
  tell(hot_news::ending);
}

void hot_watch::took(result<survey> seen) {
  if (status_) return io_.stop();
  view_.percent.reset();
  view_.elapsed = std::chrono::duration_cast<milliseconds>(clock::now() - began_);
  if (!std::exchange(looked_, true) && !seen) {
    refused_ = seen.error();
    return io_.stop();
  }
  if (seen) {
    view_.seen = std::move(*seen);
    view_.trouble.clear();
  } else {
    view_.trouble = seen.error().message;
  }
  tell(seen ? hot_news::looked : hot_news::failed);
  if (!status_) look_later();
}

// From the end of a look: one that takes long leaves the server in peace for as long as any other.
void hot_watch::look_later() {
  timer_.expires_after(interval_);
  timer_.async_wait([this](boost::system::error_code code) {
    if (!code && !status_) looker_.start();
  });
}

}  // namespace herdlock::cli
