#include "stage/programs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "stage/clock.hpp"
#include "terminal/unique_fd.hpp"

namespace herdlock::lab {
namespace {

std::filesystem::path this_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

[[noreturn]] void live(life* mine, bool refuses) {
  // Scenes only note it.
  ::signal(SIGTERM, refuses ? SIG_IGN : SIG_DFL);
  if (refuses && ::fork() == 0) ++mine;
  mine->first_ns = steady_ns();
  for (auto before = steady_ns();;) {
    auto const now = steady_ns();
    raise_to(mine->stood_still_ns, now - std::exchange(before, now));
    mine->last_ns = now;
    ::poll(nullptr, 0, 1);
  }
}

}  // namespace

std::string herdlock_program(std::string const& named) {
  std::string const program =
      named.empty() ? (this_program().parent_path() / "herdlock").string() : named;
  if (::access(program.c_str(), X_OK) == 0) return program;
  throw command_error(
      exit_code::usage,
      fmt::format("{}: cannot be executed; --command FILE says which herdlock to try", program));
}

lives& lives_in(std::filesystem::path const& file) {
  cli::unique_fd const fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  bool const is_there = fd.get() >= 0 && ::ftruncate(fd.get(), sizeof(lives)) == 0;
  void* const place =
      is_there ? ::mmap(nullptr, sizeof(lives), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0)
               : MAP_FAILED;
  if (place != MAP_FAILED) return *static_cast<lives*>(place);
  throw command_error(exit_code::internal, fmt::format("{}: cannot be mapped", file.string()));
}

void run_trial::declare(options& all) {
  all.text("--command", program_, "The herdlock to try\n(default: the one beside this program)",
           "FILE");
  // No group: --help does not list them.
  all.app().add_option("--life-in", file_)->group("");
  all.app().add_option("--life", number_)->group("");
  all.app().add_flag("--refuse", refuses_)->group("");
}

void run_trial::check() {
  if (file_.empty()) program_ = herdlock_program(program_);
}

void run_trial::live_if_asked() const {
  if (!file_.empty()) live(&lives_in(file_).at(number_), refuses_);
}

herdlock_test::child_process run_trial::start(std::string const& url,
                                              std::vector<std::string> const& how,
                                              std::filesystem::path const& file, std::size_t number,
                                              command what) const {
  std::vector<std::string> words{program_, "run", "job", "--store", url};
  words.insert(words.end(), how.begin(), how.end());
  words.insert(words.end(), {"--", this_program().string(), scene_, "--life-in", file.string(),
                             "--life", std::to_string(number)});
  if (what == command::refuses_sigterm) words.push_back("--refuse");
  return herdlock_test::child_process({.argv = words});
}

}  // namespace herdlock::lab
