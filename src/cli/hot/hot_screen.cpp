#include <fcntl.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/write.hpp>

#include "hot/hot_watch.hpp"
#include "hot/screen_terminal.hpp"
#include "terminal/exit_code.hpp"

namespace herdlock::cli {
namespace {

namespace asio = boost::asio;

constexpr std::string_view keys_that_end = "qQ\x04";
// A SIGTERM that came with SIGCONT is to be heard before the terminal is taken.
constexpr milliseconds until_signals_are_heard{20};

// Written over the one before; nothing is scrolled.
std::string frame_of(std::vector<std::string> const& lines) {
  std::string text = "\033[H\033[7m" + lines.front() + "\033[m\033[K";
  for (std::size_t i = 1; i < lines.size(); ++i) text += "\r\n" + lines[i] + "\033[K";
  return text + "\033[J";
}

int second_of(int file) {
  int const second = ::fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (second < 0) raise_errno("the terminal");
  return second;
}

// The view of a watch, drawn at each change; while one picture is on its way to a slow terminal,
// the next ones wait and become one.
class hot_screen {
 public:
  explicit hot_screen(hot_watch& watch)
      : watch_(watch),
        file_(watch.io(), second_of(terminal_.file())),
        signals_(watch.io(), SIGWINCH, SIGCONT),
        soon_(watch.io()) {
    await_signal();
    take_terminal_in(milliseconds{0});
  }

  void take(hot_news news) {
    if (news == hot_news::stopping || news == hot_news::cut_short) return leave_terminal();
    if (news == hot_news::continued) return take_terminal_in(until_signals_are_heard);
    draw();
  }

 private:
  void draw() {
    if (!terminal_.entered()) return;
    changed_ = std::exchange(drawing_, true);
    if (changed_) return;
    frame_ = frame_of(hot_screen_lines(watch_.view(), terminal_.size()));
    auto const more = [this](boost::system::error_code code, std::size_t) -> std::size_t {
      return !code && terminal_.entered() ? frame_.size() : 0;
    };
    asio::async_write(file_, asio::buffer(frame_), more,
                      [this](boost::system::error_code code, std::size_t) {
                        drawing_ = false;
                        if (std::exchange(changed_, false) && !code) draw();
                      });
  }

  void take_terminal_in(milliseconds time) {
    soon_.expires_after(time);
    soon_.async_wait([this](boost::system::error_code code) {
      if (!code && !watch_.view().ending) take_terminal();
    });
  }

  // In the background it stops, as what changes the terminal there does. Not in that call: it would
  // begin anew behind each SIGCONT, and a SIGTERM would never be heard.
  void take_terminal() {
    if (!terminal_.enter()) {
      ::kill(0, SIGTTOU);
      return;
    }
    if (!std::exchange(reading_, true)) read_keys();
    draw();
    watch_.go_on();
  }

  // What is being read and written belongs to the screen, and would go on when it is not ours.
  void leave_terminal() {
    file_.cancel();
    terminal_.leave();
  }

  void read_keys() {
    file_.async_read_some(asio::buffer(keys_),
                          [this](boost::system::error_code code, std::size_t size) {
                            reading_ = code != asio::error::operation_aborted;
                            if (!reading_) return;
                            if (code) return watch_.end(0);
                            std::string_view const typed(keys_.data(), size);
                            bool const ends = typed.find_first_of(keys_that_end) != typed.npos;
                            read_keys();
                            if (ends) watch_.end(0);
                          });
  }

  void await_signal() {
    signals_.async_wait([this](boost::system::error_code code, int number) {
      if (code) return;
      await_signal();
      if (number == SIGWINCH) return draw();
      take_terminal_in(until_signals_are_heard);
    });
  }

  hot_watch& watch_;
  screen_terminal terminal_;
  asio::posix::stream_descriptor file_;
  asio::signal_set signals_;
  asio::steady_timer soon_;
  std::array<char, 64> keys_{};
  std::string frame_;
  bool reading_ = false;
  bool drawing_ = false;
  bool changed_ = false;  // since the picture that is being drawn
};

}  // namespace

int watch_on_screen(hot_question const& asked, milliseconds interval) {
  hot_watch watch(asked, interval);
  // Goes before the watch, which may have to wait for a look.
  hot_screen screen(watch);
  return watch.run([&](hot_news news) { screen.take(news); });
}

}  // namespace herdlock::cli
