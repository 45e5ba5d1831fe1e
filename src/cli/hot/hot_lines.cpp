#include <signal.h>

#include <boost/asio/steady_timer.hpp>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "common/json_text.hpp"
#include "hot/hot_watch.hpp"
#include "terminal/exit_code.hpp"
#include "terminal/notice.hpp"
#include "terminal/standard_output.hpp"

namespace herdlock::cli {
namespace {

std::string lines_of(hot_view const& now, output_form form) {
  if (form == output_form::json) {
    return json_text(hot_json(*now.seen, now.source), json_form::line) + "\n";
  }
  std::string text;
  for (auto const& one : now.seen->keys) text += hot_line(one, now.elapsed) + "\n";
  return text;
}

// What is said beside the lines: each thing once, until another is said.
class remarks {
 public:
  void tell(std::vector<std::string> const& now) {
    if (now == last_) return;
    for (auto const& one : now) notice(one);
    last_ = now;
  }

 private:
  std::vector<std::string> last_;
};

std::vector<std::string> limits_of_a_look(hot_view const& now) {
  auto all = now.seen->notes;
  if (!now.seen->keys.empty()) return all;
  auto const none = nothing_found(now.source);
  all.insert(all.begin(), none.begin(), none.end());
  return all;
}

// The lines of a watch, as long as somebody reads them.
class hot_lines {
 public:
  hot_lines(hot_watch& watch, output_form form) : watch_(watch), form_(form), reader_(watch.io()) {
    look_for_a_reader();
  }

  void take(hot_news news) {
    auto const& now = watch_.view();
    if (news == hot_news::continued) watch_.go_on();
    if (news == hot_news::failed) said_.tell({now.trouble});
    if (news != hot_news::looked) return;
    if (!std::exchange(told_cost_, true) && !now.seen->cost.empty()) notice(now.seen->cost);
    said_.tell(limits_of_a_look(now));
    std::fputs(lines_of(now, form_).c_str(), stdout);
    flush_output();
  }

 private:
  // While there are no keys nothing is written, and no SIGPIPE comes.
  void look_for_a_reader() {
    if (output_has_no_reader()) {
      ::raise(SIGPIPE);  // may be ignored
      notice("nobody reads standard output any more");
      return watch_.end(static_cast<int>(exit_code::internal));
    }
    reader_.expires_after(std::chrono::seconds{1});
    reader_.async_wait([this](boost::system::error_code code) {
      if (!code) look_for_a_reader();
    });
  }

  hot_watch& watch_;
  output_form const form_;
  boost::asio::steady_timer reader_;
  remarks said_;
  bool told_cost_ = false;
};

}  // namespace

int watch_in_lines(hot_question const& asked, milliseconds interval, output_form form) {
  hot_watch watch(asked, interval);
  hot_lines lines(watch, form);
  watch.go_on();
  return watch.run([&](hot_news news) { lines.take(news); });
}

}  // namespace herdlock::cli
