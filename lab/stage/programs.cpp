#include "stage/programs.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <herdlock/lock.hpp>

#include "stage/place.hpp"
#include "stage/temp_folder.hpp"
#include "terminal/unique_fd.hpp"

namespace herdlock::lab {
namespace {

std::filesystem::path this_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

// When a command was at work, by steady_ns(); 0: never.
struct life {
  std::atomic<std::int64_t> first_ns, last_ns;
  std::atomic<std::int64_t> stood_still_ns;  // at most, between two of its milliseconds
};
// Those of the first command, whose second process has one, too, and of the next.
using lives = std::array<life, 3>;
constexpr std::size_t first_life = 0, next_life = 2;

// The file's content, shared with all who map it until the end of this process: a program that is
// started anew inherits no memory. A new file is all zeros.
lives& lives_in(std::filesystem::path const& file) {
  cli::unique_fd const fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  bool const is_there = fd.get() >= 0 && ::ftruncate(fd.get(), sizeof(lives)) == 0;
  void* const place =
      is_there ? ::mmap(nullptr, sizeof(lives), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0)
               : MAP_FAILED;
  if (place != MAP_FAILED) return *static_cast<lives*>(place);
  throw command_error(exit_code::internal, fmt::format("{}: cannot be mapped", file.string()));
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
  if (file_.empty()) return;
  life* mine = &lives_in(file_).at(number_);
  // Scenes only note it.
  ::signal(SIGTERM, refuses_ ? SIG_IGN : SIG_DFL);
  if (refuses_ && ::fork() == 0) ++mine;
  mine->first_ns = steady_ns();
  for (auto before = steady_ns();; nap()) {
    auto const now = steady_ns();
    raise_to(mine->stood_still_ns, now - std::exchange(before, now));
    mine->last_ns = now;
  }
}

run_trial::outcome run_trial::play(stage& on, taking const& what) const {
  temp_folder const folder;
  auto const file = folder.path() / "lives";
  lives& all = lives_in(file);
  life &first = all[0], &second = all[1], &next_one = all[2];
  auto const started = [&](std::string const& url, std::size_t number) {
    std::vector<std::string> words{program_, "run", "job", "--store", url};
    words.insert(words.end(), what.how.begin(), what.how.end());
    words.insert(words.end(), {"--", this_program().string(), scene_, "--life-in", file.string(),
                               "--life", std::to_string(number)});
    if (number == first_life && what.refuses_sigterm) words.push_back("--refuse");
    return program({.argv = words});
  };
  auto const await = [&](program const& of, char const* why, auto holds) {
    if (on.waited_for(holds, stage::patience)) return;
    throw command_error(exit_code::unavailable, fmt::format("{}: {}", why, of.errors()));
  };
  program holder = started(what.holder_url, first_life);
  await(holder, "the command did not run",
        [&] { return first.first_ns != 0 && (!what.refuses_sigterm || second.first_ns != 0); });
  program next = started(what.next_url, next_life);
  bool const seen_waiting = on.waited_for(
      [looker = lock(open_here(what.next_url), "job")] {
        auto const seen = looker.inspect();
        return seen && seen->waiting != 0;
      },
      what.waits_unseen);
  auto const take_away = what.prepare(holder);
  first.stood_still_ns = second.stood_still_ns = 0;
  auto const since = steady_ns();
  take_away();
  bool const ended = on.waited_for([&] { return !holder.running(); }, stage::patience);
  what.mend();
  await(next, "nobody took over", [&] { return next_one.first_ns != 0; });
  auto const last_ns = [&] { return std::max<std::int64_t>(first.last_ns, second.last_ns); };
  auto const last_beside = last_ns();
  next.signal(SIGTERM);
  next.wait();
  auto const last = last_ns();
  return {in_ms(next_one.first_ns - last),
          std::max(0.0, in_ms(last - since)),
          in_ms(std::max<std::int64_t>(first.stood_still_ns, second.stood_still_ns)),
          seen_waiting,
          ended && holder.wait()->code == 76,
          last != last_beside};
}

}  // namespace herdlock::lab
