#include "hot/hot_watch.hpp"
#include "terminal/exit_code.hpp"
#include "terminal/notice.hpp"
#include "terminal/standard_output.hpp"

namespace herdlock::cli {
namespace {

// The lines of a watch, as long as somebody reads them.
class hot_lines {
 public:
  hot_lines(hot_watch& watch, output_form form) : watch_(watch), form_(form), reader_(watch.io()) {
    look_for_a_reader();
  }

  void take(hot_news news) {
    auto const& now = watch_.view();
    if (news == hot_news::continued) watch_.go_on();
    if (news == hot_news::failed) remark({now.trouble});
    if (news != hot_news::looked) return;
    if (!std::exchange(told_cost_, true) && !now.seen->cost.empty()) notice(now.seen->cost);
    auto limits = now.seen->keys.empty() ? nothing_found(now.source) : std::vector<std::string>();
    limits.insert(limits.end(), now.seen->notes.begin(), now.seen->notes.end());
    remark(std::move(limits));
    std::fputs(lines_of(now).c_str(), stdout);
    flush_output();
  }

 private:
  std::string lines_of(hot_view const& now) const {
    if (form_ == output_form::json) {
      return json_text(hot_json(*now.seen, now.source), json_form::line) + "\n";
    }
    std::string text;
    for (auto const& one : now.seen->keys) text += hot_line(one, now.elapsed) + "\n";
    return text;
  }

  // What is said beside the lines: each thing once, until another is said.
  void remark(std::vector<std::string> now) {
    if (now == said_) return;
    for (auto const& one : now) notice(one);
    said_ = std::move(now);
  }

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
  std::vector<std::string> said_;
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
