#include "hot/hot_lines.hpp"

#include <cstdio>
#include <string>
#include <vector>

#include "common/exit_code.hpp"
#include "common/json_text.hpp"
#include "common/notice.hpp"
#include "hot/hot_watch.hpp"

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

bool written(std::string const& text) {
  return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
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

std::vector<std::string> remarks_of_a_look(hot_view const& now) {
  auto all = now.seen->notes;
  if (!now.seen->keys.empty()) return all;
  auto const none = nothing_found(now.source);
  all.insert(all.begin(), none.begin(), none.end());
  return all;
}

}  // namespace

int watch_in_lines(hot_question const& asked, milliseconds interval, output_form form) {
  hot_watch watch(asked, interval);
  remarks said;
  return watch.run([&](hot_news news) {
    auto const& now = watch.view();
    if (news == hot_news::failed) said.tell({now.trouble});
    if (news != hot_news::looked) return;
    said.tell(remarks_of_a_look(now));
    if (!written(lines_of(now, form))) watch.end(static_cast<int>(exit_code::internal));
  });
}

}  // namespace herdlock::cli
