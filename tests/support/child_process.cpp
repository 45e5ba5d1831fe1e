#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <support/child_process.hpp>

extern char** environ;

namespace herdlock_test {
namespace {

// Appended to: such a file's position is not guarded, so that of two threads that write at once one
// would write over the other's line.
int memory_file(char const* name) {
  int fd = ::memfd_create(name, MFD_CLOEXEC);
  if (fd < 0) throw std::runtime_error(std::string("memfd_create: ") + std::strerror(errno));
  ::fcntl(fd, F_SETFL, O_APPEND);
  return fd;
}

// As of "1: POSIX  ADVISORY  WRITE 708 00:1a:9 120 120".
bool keeps_a_file_locked(pid_t pid) {
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, how, what;
    pid_t who = 0;
    if (words >> number >> kind >> how >> what >> who && what == "WRITE" && who == pid) return true;
  }
  return false;
}

// The text that is there now: a program that writes for ever would be read for ever.
std::string read_all(int fd) {
  struct stat file {};
  if (::fstat(fd, &file) != 0) return {};
  std::string text(static_cast<std::size_t>(file.st_size), '\0');
  ssize_t const n = ::pread(fd, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

std::vector<std::string> merged_environment(
    std::vector<std::pair<std::string, std::string>> const& added) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry; ++entry) {
    std::string text = *entry;
    auto name = text.substr(0, text.find('='));
    bool replaced = false;
    for (auto const& [key, value] : added) replaced = replaced || key == name;
    if (!replaced) all.push_back(std::move(text));
  }
  for (auto const& [key, value] : added) all.push_back(key + "=" + value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (auto& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

// Everything that the new process needs, made before the fork: after it only async-signal-safe
// calls are allowed, since other threads may have held any lock.
struct launch {
  std::string program;
  std::vector<char*> argv;
  std::vector<char*> env;
  std::string folder;
  process_group group;
  bool change_user = false;
  uid_t uid = 0;
  gid_t gid = 0;
  int input, output, errors;
  int report;  // errno of a failed exec is written here
  pid_t parent;
};

[[noreturn]] void become(launch const& l) {
  auto give_up = [&] {
    int why = errno;
    [[maybe_unused]] auto n = ::write(l.report, &why, sizeof why);
    ::_exit(127);
  };
  if (l.group == process_group::own) ::setpgid(0, 0);
  if (l.change_user &&
      (::setgroups(1, &l.gid) != 0 || ::setgid(l.gid) != 0 || ::setuid(l.uid) != 0)) {
    give_up();
  }
  // After the change of user, which would clear it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != l.parent) ::_exit(127);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  if (!l.folder.empty() && ::chdir(l.folder.c_str()) != 0) give_up();
  ::dup2(l.input, 0);
  ::dup2(l.output, 1);
  ::dup2(l.errors, 2);
  // A connection that the test cuts must not live on here.
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  ::execve(l.program.c_str(), l.argv.data(), l.env.data());
  give_up();
  ::_exit(127);
}

void look_up_user(launch& l, std::string const& user) {
  if (user.empty() || ::geteuid() != 0) return;
  passwd* entry = ::getpwnam(user.c_str());
  if (!entry) throw std::runtime_error("there is no system user '" + user + "'");
  l.change_user = true;
  l.uid = entry->pw_uid;
  l.gid = entry->pw_gid;
}

// Nothing when the program took over; its errno when it did not.
std::optional<int> exec_error(int fd) {
  int why = 0;
  ssize_t n = 0;
  pollfd end{fd, POLLIN, 0};
  if (::poll(&end, 1, static_cast<int>(patience.count())) == 0) return ETIMEDOUT;
  do n = ::read(fd, &why, sizeof why);
  while (n < 0 && errno == EINTR);
  if (n == sizeof why) return why;
  return std::nullopt;
}

std::optional<std::string> look_up(std::string const& name) {
  if (name.find('/') != std::string::npos) return name;
  char const* path = std::getenv("PATH");
  std::istringstream folders(std::string(path ? path : "/usr/bin:/bin") + ":/usr/sbin:/sbin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string candidate = folder + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

}  // namespace

child_process::child_process(child_options options) : group_(options.group) {
  auto program = look_up(options.argv.at(0));
  if (!program) throw std::runtime_error("no program '" + options.argv[0] + "' in PATH");
  if (options.syncs == disk_syncs::skipped) {
    options.env.emplace_back("LD_PRELOAD", "libeatmydata.so");
  }
  auto env = merged_environment(options.env);
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  output_ = memory_file("stdout");
  errors_ = memory_file("stderr");
  int input = -1;
  if (options.input == process_input::none) {
    input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  } else {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
    input = ends[0];
    input_ = ends[1];
  }

  launch l{};
  l.program = *program;
  l.argv = pointers(options.argv);
  l.env = pointers(env);
  l.folder = options.folder.string();
  l.group = options.group;
  l.input = input;
  l.output = output_;
  l.errors = errors_;
  l.report = report[1];
  l.parent = ::getpid();
  look_up_user(l, options.user);

  pid_ = ::fork();
  if (pid_ == 0) become(l);
  int fork_error = errno;
  if (pid_ > 0 && group_ == process_group::own) ::setpgid(pid_, pid_);
  ::close(input);
  ::close(report[1]);
  auto failed = pid_ < 0 ? std::optional<int>(fork_error) : exec_error(report[0]);
  ::close(report[0]);
  if (failed) {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
    close_all();
    throw std::runtime_error("cannot start " + *program + ": " + std::strerror(*failed));
  }
}

child_process::~child_process() {
  if (pid_ > 0) kill();
  close_all();
}

child_process::child_process(child_process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      group_(other.group_),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      errors_(std::exchange(other.errors_, -1)),
      ended_(std::exchange(other.ended_, std::nullopt)) {}

child_process& child_process::operator=(child_process&& other) noexcept {
  if (this == &other) return *this;
  if (pid_ > 0) kill();
  close_all();
  pid_ = std::exchange(other.pid_, -1);
  group_ = other.group_;
  input_ = std::exchange(other.input_, -1);
  output_ = std::exchange(other.output_, -1);
  errors_ = std::exchange(other.errors_, -1);
  ended_ = std::exchange(other.ended_, std::nullopt);
  return *this;
}

void child_process::close_all() {
  if (input_ >= 0) ::close(input_);
  if (output_ >= 0) ::close(output_);
  if (errors_ >= 0) ::close(errors_);
  input_ = output_ = errors_ = -1;
}

bool child_process::reap() {
  if (ended_) return true;
  int status = 0;
  pid_t got = 0;
  do got = ::waitpid(pid_, &status, WNOHANG);
  while (got < 0 && errno == EINTR);
  if (got == 0) return false;
  exit_status end;
  if (got == pid_ && WIFEXITED(status)) end.code = WEXITSTATUS(status);
  if (got == pid_ && WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  ended_ = end;
  return true;
}

bool child_process::running() { return pid_ > 0 && !reap(); }

void child_process::signal(int number) {
  if (!running()) return;
  ::kill(group_ == process_group::own ? -pid_ : pid_, number);
}

void child_process::pause() {
  signal(SIGSTOP);
  eventually([&] {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid == pid_;
  });
}

void child_process::pause_between_transactions() {
  bool const met = eventually([&] {
    pause();
    if (!keeps_a_file_locked(pid_)) return true;
    resume();
    return false;
  });
  if (!met) throw std::runtime_error("it is within a transaction whenever it is stopped");
}

void child_process::resume() { signal(SIGCONT); }

exit_status child_process::kill() {
  // The group also when its leader has gone: a grandchild may be left.
  if (group_ == process_group::own) ::kill(-pid_, SIGKILL);
  signal(SIGKILL);
  return wait().value_or(exit_status{});
}

std::optional<exit_status> child_process::wait(std::chrono::milliseconds deadline) {
  if (pid_ <= 0 || !eventually(deadline, [&] { return reap(); })) return std::nullopt;
  return ended_;
}

void child_process::write_line(std::string const& text) {
  std::string const line = text + "\n";
  // A line is shorter than PIPE_BUF, so it is written as a whole; SIGPIPE would end the test.
  auto const before = ::signal(SIGPIPE, SIG_IGN);
  auto const n = ::write(input_, line.data(), line.size());
  ::signal(SIGPIPE, before);
  if (n != static_cast<ssize_t>(line.size())) {
    throw std::runtime_error("the child process does not read its input: " + errors());
  }
}

std::string child_process::output() const { return read_all(output_); }
std::string child_process::errors() const { return read_all(errors_); }

std::string run_command(child_options options) {
  std::string name = options.argv.at(0);
  child_process child(std::move(options));
  auto end = child.wait(std::chrono::seconds(60));
  if (end && end->code == 0) return child.output();
  throw std::runtime_error(name + (end ? " failed:\n" : " does not end:\n") + child.output() +
                           child.errors());
}

std::string find_program(std::string const& name, std::string const& package) {
  if (auto path = look_up(name)) return *path;
  throw std::runtime_error("there is no '" + name + "': install the Debian package " + package);
}

}  // namespace herdlock_test
