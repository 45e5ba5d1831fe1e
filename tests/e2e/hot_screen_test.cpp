// `herdlock hot --watch` on a terminal: what is drawn, and that the terminal is as it was.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <support/eventually.hpp>
#include <support/redis_server.hpp>
#include <support/relay.hpp>

#include "herdlock_command.hpp"
#include "hot_caches.hpp"

namespace {

using namespace herdlock_test;

constexpr std::string_view alternate_screen = "\x1b[?1049h";
constexpr std::string_view normal_screen = "\x1b[?1049l";

// A terminal, and a shell with a script on it. The shell stays until it gets a line: the kernel
// sets back a terminal whose first process has ended, and hides what others have left there.
class terminal_with_a_shell {
 public:
  explicit terminal_with_a_shell(std::string const& script) {
    winsize size{};
    size.ws_col = 80;
    size.ws_row = 24;
    shell_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
    if (shell_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::execlp("sh", "sh", "-c", script.c_str(), nullptr);
      ::_exit(127);
    }
    ::fcntl(terminal_, F_SETFL, O_NONBLOCK);
  }
  terminal_with_a_shell(terminal_with_a_shell const&) = delete;
  terminal_with_a_shell& operator=(terminal_with_a_shell const&) = delete;
  ~terminal_with_a_shell() {
    ::close(terminal_);  // a hang-up for all who are on it
    ::kill(shell_, SIGKILL);
    ::waitpid(shell_, nullptr, 0);
  }

  /// All that was written to it so far.
  std::string const& shown() {
    char text[4096];
    for (ssize_t got = 0; (got = ::read(terminal_, text, sizeof text)) > 0;) {
      shown_.append(text, static_cast<std::size_t>(got));
    }
    return shown_;
  }
  bool shows(std::string_view part, std::size_t behind = 0) {
    return eventually([&] { return shown().find(part, behind) != std::string::npos; });
  }
  /// A whole picture with that in it, the last one that is drawn for now.
  bool has_drawn(std::string_view part, std::size_t behind = 0) {
    return eventually([&] {
      auto const at = shown().find(part, behind);
      return at != std::string::npos && shown_.find("\x1b[J", at) != std::string::npos;
    });
  }
  /// The last whole picture; empty before the first one.
  std::string picture() {
    auto const end = shown().rfind("\x1b[J");
    auto const begin = end == std::string::npos ? end : shown_.rfind("\x1b[H", end);
    return begin == std::string::npos ? "" : shown_.substr(begin, end - begin);
  }
  void type(std::string_view text) const {
    EXPECT_EQ(::write(terminal_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void resize(unsigned short columns, unsigned short rows) const {
    winsize size{};
    size.ws_col = columns;
    size.ws_row = rows;
    EXPECT_EQ(::ioctl(terminal_, TIOCSWINSZ, &size), 0);
  }
  termios modes() const {
    termios now{};
    EXPECT_EQ(::tcgetattr(terminal_, &now), 0);
    return now;
  }
  /// What the script has echoed as `pid NUMBER`.
  pid_t pid() {
    EXPECT_TRUE(eventually([&] {
      auto const at = shown().find("pid ");
      return at != std::string::npos && shown_.find('\n', at) != std::string::npos;
    })) << shown_;
    auto const at = shown_.find("pid ");
    return at == std::string::npos ? 0 : std::atoi(shown_.c_str() + at + 4);
  }

 private:
  int terminal_ = -1;
  pid_t shell_ = -1;
  std::string shown_;
};

bool same(termios const& a, termios const& b) {
  return a.c_iflag == b.c_iflag && a.c_oflag == b.c_oflag && a.c_cflag == b.c_cflag &&
         a.c_lflag == b.c_lflag && std::equal(a.c_cc, a.c_cc + NCCS, b.c_cc);
}

// In characters.
std::size_t longest_line(std::string const& frame) {
  std::size_t most = 0, now = 0;
  for (std::size_t i = 0; i < frame.size(); ++i) {
    if (frame[i] == '\x1b') {
      i = frame.find_first_of("ABCDEFGHJKhlm", i);
      if (i == std::string::npos) break;
    } else if (frame[i] == '\r' || frame[i] == '\n') {
      now = 0;
    } else {
      now += (static_cast<unsigned char>(frame[i]) & 0xc0) != 0x80;
      most = std::max(most, now);
    }
  }
  return most;
}

class HotScreen : public ::testing::Test {
 protected:
  HotScreen() { redis_server::shared().flush(); }

  static std::string on_terminal(std::string const& kind, std::string const& options) {
    return "env HERDLOCK_STORE= TERM=" + kind +
           " sh -c 'echo pid $$; exec \"$0\" \"$@\"' " HERDLOCK_COMMAND " hot " + options;
  }
  // One look in an hour: whatever is drawn later has another reason.
  static std::string watching() {
    return on_terminal("xterm", "--watch --interval 1h --store " + redis_server::shared().url());
  }
  static std::string once() { return "read start; " + watching() + "; echo ended $?; read end"; }

  static void expect_left(terminal_with_a_shell& on, termios const& before) {
    auto const left = on.shown().rfind(normal_screen);
    ASSERT_NE(left, std::string::npos) << on.shown();
    EXPECT_EQ(on.shown().find(alternate_screen, left), std::string::npos);
    EXPECT_NE(on.shown().find("\x1b[?25h"), std::string::npos) << "the cursor is back";
    EXPECT_TRUE(same(on.modes(), before));
  }
};

TEST_F(HotScreen, IsDrawnAndQuitsOnQAndRestoresTheTerminal) {
  terminal_with_a_shell on(once());
  auto const before = on.modes();
  on.type("\n");
  ASSERT_TRUE(on.shows("no process reports")) << on.shown();
  EXPECT_NE(on.shown().find(alternate_screen), std::string::npos);
  EXPECT_NE(on.shown().find("q quits"), std::string::npos) << on.shown();
  EXPECT_EQ(on.modes().c_lflag & (ICANON | ECHO), 0u) << "keys come at once, and are not shown";
  on.type("xq");
  ASSERT_TRUE(on.shows("ended 0")) << on.shown();
  expect_left(on, before);
}

// "warm" is read by nobody before "hot" was drawn: a picture with both is of another look.
TEST_F(HotScreen, KeysThatCachesReportAreDrawnAndDrawnAgainByALaterLook) {
  auto const url = redis_server::shared().url();
  terminal_with_a_shell on("read start; " +
                           on_terminal("xterm", "--watch --interval 20ms --store " + url) +
                           "; echo ended $?; read end");
  auto const before = on.modes();
  two_reporting_caches const caches(url);
  on.type("\n");
  auto const draws = [&](std::string const& row) {
    return on.picture().find(row) != std::string::npos;
  };
  ASSERT_TRUE(eventually([&] {
    for (int i = 0; i < 40; ++i) caches.read("hot");
    return draws("\r\np:hot ");
  })) << on.shown();
  EXPECT_FALSE(draws("p:warm"));
  EXPECT_TRUE(draws("RATE/S")) << on.picture();
  EXPECT_FALSE(draws("no process reports")) << on.picture();
  ASSERT_TRUE(caches.while_reading([&] { return draws("\r\np:hot ") && draws("\r\np:warm "); }))
      << on.picture();
  on.type("q");
  ASSERT_TRUE(on.shows("ended 0")) << on.shown();
  expect_left(on, before);
}

TEST_F(HotScreen, IsDrawnAnewForAnotherSize) {
  terminal_with_a_shell on(once());
  on.type("\n");
  ASSERT_TRUE(on.has_drawn("no process reports")) << on.shown();
  auto const before = on.shown().size();
  on.resize(30, 8);
  ASSERT_TRUE(on.has_drawn("no process reports", before)) << on.shown();
  auto const frame = on.shown().substr(on.shown().rfind("\x1b[H"));
  EXPECT_LE(longest_line(frame), 30u) << frame;
  EXPECT_LT(std::count(frame.begin(), frame.end(), '\n'), 8) << frame;
}

TEST_F(HotScreen, SignalsAndTheEndOfInputRestoreTheTerminal) {
  struct way_out {
    int signal;
    char const* typed;
    char const* told;
  };
  for (auto const& [signal, typed, told] :
       {way_out{SIGTERM, "", "ended 143"}, way_out{SIGHUP, "", "ended 129"},
        way_out{0, "\x04", "ended 0"}}) {
    terminal_with_a_shell on(once());
    auto const before = on.modes();
    on.type("\n");
    ASSERT_TRUE(on.shows("no process reports")) << on.shown();
    if (signal != 0) ::kill(on.pid(), signal);
    on.type(typed);
    ASSERT_TRUE(on.shows(told)) << on.shown();
    expect_left(on, before);
  }
}

// In a group of its own, as a shell for people does it: else Ctrl-C is the script's, too.
TEST_F(HotScreen, CtrlCEndsItAndCtrlZGivesTheTerminalBackUntilItGoesOn) {
  terminal_with_a_shell on("set -m; read start; " + watching() +
                           "; echo stopped; read more; fg; echo ended $?; read end");
  auto const before = on.modes();
  on.type("\n");
  ASSERT_TRUE(on.shows("no process reports")) << on.shown();
  on.type("\x1a");
  ASSERT_TRUE(on.shows("stopped\r\n")) << on.shown();
  expect_left(on, before);
  auto const stopped = on.shown().size();
  on.type("\n");
  ASSERT_TRUE(on.shows(alternate_screen, stopped)) << on.shown();
  ASSERT_TRUE(on.has_drawn("no process reports", stopped)) << on.shown();
  on.type("\x03");
  ASSERT_TRUE(on.shows("ended 130")) << on.shown();
  expect_left(on, before);
}

// What nobody reads of MONITOR stays in the server's memory.
TEST_F(HotScreen, CtrlZClosesMonitorAndItIsOpenedAgainLater) {
  struct screen {
    char const* terminal;
    char const* options;
  };
  auto const& server = redis_server::shared();
  auto const listens = [&] {
    return server.cli("client list").find("cmd=monitor") != std::string::npos;
  };
  for (auto const& [terminal, options] :
       {screen{"xterm", "--watch"}, screen{"dumb", "--watch"}, screen{"dumb", ""}}) {
    terminal_with_a_shell on(
        "set -m; read start; " +
        on_terminal(terminal, "--source monitor --for 60s --store " + server.url() + " ") +
        options + "; echo stopped; read more; fg; read end");
    on.type("\n");
    ASSERT_TRUE(eventually(listens)) << on.shown();
    on.type("\x1a");
    ASSERT_TRUE(on.shows("stopped\r\n")) << on.shown();
    EXPECT_TRUE(eventually([&] { return !listens(); })) << terminal << options;
    on.type("\n");
    ASSERT_TRUE(eventually(listens)) << on.shown();
    on.type("\x03");
    EXPECT_TRUE(eventually([&] { return !listens(); })) << terminal << options;
  }
}

TEST_F(HotScreen, WhatEndsItEndsALookThatHangsWhenItComesTwice) {
  // A look has several answers, and each of them takes almost as long as a connection waits.
  relay way(redis_server::shared().port());
  way.set_delay(std::chrono::seconds{4});
  auto const url = "redis://127.0.0.1:" + std::to_string(way.port()) + "?timeout=60s";
  struct way_out {
    char const* typed;
    char const* told;
  };
  for (auto const& [typed, told] : {way_out{"q", "ended 0"}, way_out{"\x03", "ended 130"}}) {
    terminal_with_a_shell on(
        "set -m; read start; " +
        on_terminal("xterm", "--watch --source monitor --store '" + url + "'") +
        "; echo ended $?; read end");
    auto const before = on.modes();
    on.type("\n");
    ASSERT_TRUE(on.has_drawn("looking")) << on.shown();
    on.type(typed);
    EXPECT_TRUE(on.shows("ending; again to end at once")) << on.shown();
    on.type(typed);
    ASSERT_TRUE(on.shows(told)) << on.shown();
    expect_left(on, before);
  }
}

TEST_F(HotScreen, EndedInTheBackgroundItLeavesTheScreenAndTheModesOfTheShell) {
  terminal_with_a_shell on("set -m; read start; " + watching() + "; echo stopped; read end");
  on.type("\n");
  ASSERT_TRUE(on.shows("no process reports")) << on.shown();
  auto const pid = on.pid();
  ::kill(pid, SIGSTOP);
  ASSERT_TRUE(on.shows("stopped\r\n")) << on.shown();
  auto const modes = on.modes();
  ::kill(pid, SIGTERM);
  ::kill(pid, SIGCONT);
  ASSERT_TRUE(eventually([&] {
    auto const state = content("/proc/" + std::to_string(pid) + "/stat");
    return state.empty() || state.find(") Z") != std::string::npos;
  }));
  EXPECT_TRUE(on.shows(normal_screen)) << on.shown();
  EXPECT_TRUE(same(on.modes(), modes));
}

TEST_F(HotScreen, AFirstLookThatFailsIsAnErrorOnARestoredTerminal) {
  terminal_with_a_shell on("read start; env TERM=xterm " HERDLOCK_COMMAND
                           " hot --watch --store redis://127.0.0.1:1?timeout=200ms"
                           "; echo ended $?; read end");
  auto const before = on.modes();
  on.type("\n");
  ASSERT_TRUE(on.shows("ended 69")) << on.shown();
  EXPECT_TRUE(same(on.modes(), before));
  auto const told = on.shown().find("herdlock: ");
  ASSERT_NE(told, std::string::npos) << on.shown();
  EXPECT_EQ(on.shown().find(alternate_screen, told), std::string::npos) << on.shown();
}

TEST_F(HotScreen, ADumbTerminalGetsLines) {
  terminal_with_a_shell on("env TERM=dumb " HERDLOCK_COMMAND " hot --watch --store " +
                           redis_server::shared().url() + "; read end");
  ASSERT_TRUE(on.shows("no process reports")) << on.shown();
  EXPECT_EQ(on.shown().find(alternate_screen), std::string::npos);
}

}  // namespace
