#include "hot/looker.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

namespace herdlock::cli {
namespace {

namespace asio = boost::asio;

// Thrown through survey_store() by a look that nobody wants any more.
struct abandoned {};

}  // namespace

looker::looker(asio::io_context& io, hot_question const& asked, done_handler on_done,
               progress_handler on_progress)
    : io_(io), asked_(asked), on_done_(std::move(on_done)), on_progress_(std::move(on_progress)) {}

void looker::start() {
  thread_ = std::jthread([this](std::stop_token const& stop) { look(stop); });
  under_way_ = true;
}

void looker::look(std::stop_token const& stop) {
  survey_request request = asked_.request;
  request.on_progress = [this, &stop, told = -1](double done) mutable {
    if (stop.stop_requested()) throw abandoned();
    int const percent = static_cast<int>(100 * std::clamp(done, 0.0, 1.0));
    if (percent == std::exchange(told, percent)) return;
    asio::post(io_, [this, percent] { on_progress_(percent); });
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
  asio::post(io_, [this, seen = std::move(seen), thrown]() mutable {
    thread_.join();
    under_way_ = false;
    if (thrown) std::rethrow_exception(thrown);
    on_done_(std::move(seen));
  });
}

}  // namespace herdlock::cli
