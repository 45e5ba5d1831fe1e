// A fleet whose processes ask for many keys at once, in sets that overlap: see `many_soak --help`.
//
// In each round the keys are new. Of those that a call names some are put before, the others are
// missing; each process draws its own from a third more of both kinds, in an order of its own.
#include <poll.h>
#include <semaphore.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <limits>
#include <optional>
#include <random>
#include <support/child_process.hpp>
#include <support/temp_dir.hpp>

#include "many_soak.hpp"
#include "number_argument.hpp"

namespace {

using namespace herdlock;
using namespace herdlock_test;

constexpr int most_processes = 64;
constexpr int most_keys = 10'000;

constexpr char const* help =
    R"(many_soak [--case fleet|alone|trips] [--store redis|cluster] [--rounds N] [--processes N]
          [--keys N] [--missing N] [--seed N] [--deadline MS] [--latency MS]

  fleet  each process calls get_many_or_load in each round
  alone  each process reads, and loads what it misses itself: so it can be seen that the judge sees
  trips  one process alone behind a line of that latency, which counts its round trips: a call in
         each round, until one of them makes no more than are promised

--store cluster is one of three masters. --keys are those of a call, --missing those of them that
have to be loaded. The same --seed has the processes draw the same keys.

Ends with 1 when a missing key was not loaded exactly once in the fleet or one that was there was
loaded at all, when a call's loader was called twice, when a value was wrong or an error, when a
call was not over at the deadline (a deadlock), or when each call made more than 3 round trips and
one call of the loader. `alone` judges nothing.
)";

// What the processes tell each other.
struct figures {
  sem_t over;  // a process has ended its round
  std::array<sem_t, most_processes> go;
  std::atomic<std::uint64_t> round{0};
  std::atomic<bool> stop{false};
  // Of the round, by the numbers of the missing keys.
  std::array<std::atomic<std::uint32_t>, most_keys> asked{}, loaded{};
  std::atomic<std::uint64_t> needless{0}, wrong{0}, errors{0}, loader_calls{0}, again{0};
  std::atomic<std::int64_t> slowest_ms{0};
};

// ------------------------------------------------------------------------------------ the keys

int drawn_from(int count) { return count + (count + 2) / 3; }

std::string missing_key(std::uint64_t round, int number) {
  return std::to_string(round) + ":missing:" + std::to_string(number);
}

std::string put_key(std::uint64_t round, int number) {
  return std::to_string(round) + ":there:" + std::to_string(number);
}

// The number of a missing key; nothing for one that was put.
std::optional<std::size_t> number_of(std::string const& key) {
  if (key.find(":missing:") == key.npos) return std::nullopt;
  return std::stoul(key.substr(key.rfind(':') + 1));
}

// ------------------------------------------------------------------------------------ a worker

class worker {
 public:
  explicit worker(many_options const& options)
      : options_(options),
        shared_(shared_figures<figures>(options.shared)),
        cached_(open_store(options.url), terms(options)) {}

  void run() {
    auto const me = static_cast<std::size_t>(options_.number);
    while (true) {
      while (::sem_wait(&shared_.go.at(me)) != 0) {
      }
      if (shared_.stop) return;
      play(shared_.round);
      ::sem_post(&shared_.over);
    }
  }

 private:
  static cache_options terms(many_options const& options) {
    cache_options terms{.prefix = "many:", .ttl = std::chrono::hours(1)};
    terms.wait = options.deadline;
    terms.near = near_cache::off;  // round trips are counted
    return terms;
  }

  void draw(std::uint64_t round) {
    std::seed_seq seed{options_.seed, round, static_cast<std::uint64_t>(options_.number)};
    dice_.seed(seed);
    auto take = [&](int count, auto const& key_of) {
      names all;
      for (int i = 0; i < drawn_from(count); ++i) all.push_back(key_of(round, i));
      std::shuffle(all.begin(), all.end(), dice_);
      keys_.insert(keys_.end(), all.begin(), all.begin() + count);
    };
    keys_.clear();
    take(options_.missing, missing_key);
    take(options_.keys - options_.missing, put_key);
    std::shuffle(keys_.begin(), keys_.end(), dice_);
    for (auto const& key : keys_) {
      if (auto const number = number_of(key)) ++shared_.asked.at(*number);
    }
  }

  void play(std::uint64_t round) {
    draw(round);
    loads_ = 0;
    auto const began = std::chrono::steady_clock::now();
    if (options_.what == "alone") {
      load_alone();
    } else {
      check(cached_.get_many_or_load(keys_, [this](names const& wanted) { return load(wanted); }));
    }
    auto const taken = std::chrono::steady_clock::now() - began;
    auto const ms = std::chrono::duration_cast<milliseconds>(taken).count();
    auto slowest = shared_.slowest_ms.load();
    while (ms > slowest && !shared_.slowest_ms.compare_exchange_weak(slowest, ms)) {
    }
  }

  std::map<std::string, std::string> load(names const& wanted) {
    ++shared_.loader_calls;
    if (++loads_ > 1) {
      ++shared_.again;
      std::string text;
      for (auto const& key : wanted) text += " " + key;
      std::fprintf(stderr, "process %d, call %d of one loader:%s\n", options_.number, loads_,
                   text.c_str());
    }
    for (auto const& key : wanted) {
      auto const number = number_of(key);
      if (number) {
        ++shared_.loaded.at(*number);
      } else {
        ++shared_.needless;
      }
    }
    ::poll(nullptr, 0, std::uniform_int_distribution(5, 20)(dice_));
    return values_of(wanted);
  }

  // As it is done without a cache that guards.
  void load_alone() {
    names missing;
    for (auto const& key : keys_) {
      if (!cached_.get(key)) missing.push_back(key);
    }
    if (missing.empty()) return;
    load(missing);
    put_all(cached_, missing);
  }

  void check(std::vector<result<std::optional<std::string>>> const& got) {
    std::uint64_t errors = 0;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (got[i].has_error() && ++errors == 1) {
        std::fprintf(stderr, "process %d, the first error of a call, %s: %s\n", options_.number,
                     keys_[i].c_str(), got[i].error().message.c_str());
      }
      if (got[i].has_value() && got[i].value() != value_of(keys_[i])) ++shared_.wrong;
    }
    shared_.errors += errors;
  }

  many_options options_;
  figures& shared_;
  cache<std::string> cached_;
  std::mt19937_64 dice_;
  names keys_;
  int loads_ = 0;  // of this call
};

// ------------------------------------------------------------------------------------ the judge

class fleet {
 public:
  fleet(many_options options, std::string const& program)
      : options_(std::move(options)), store_(options_.store) {
    options_.url = store_.url();
    options_.shared = folder_.path() / "figures";
    seen_ = &shared_figures<figures>(options_.shared);
    ::sem_init(&seen_->over, 1, 0);
    for (auto& one : seen_->go) ::sem_init(&one, 1, 0);
    for (int i = 0; i < options_.processes; ++i) {
      processes_.emplace_back(
          child_options{.argv = {program, "--worker", options_.url, options_.shared, options_.what,
                                 std::to_string(i), std::to_string(options_.keys),
                                 std::to_string(options_.missing), std::to_string(options_.seed),
                                 std::to_string(options_.deadline.count())}});
    }
  }

  void judge(verdict& how) {
    cache<std::string> const filler(open_store(options_.url),
                                    {.prefix = "many:", .ttl = std::chrono::hours(1)});
    bool over = true;
    std::uint64_t round = 0;
    for (; over && round < options_.rounds; ++round) {
      names there;
      for (int i = 0; i < drawn_from(options_.keys - options_.missing); ++i) {
        there.push_back(put_key(round, i));
      }
      put_all(filler, there);
      over = play(round);
      count_loads();
    }
    tell(round, how, over);
  }

 private:
  // False when somebody has not come to an end: a call itself ends at the deadline.
  bool play(std::uint64_t round) {
    auto& shared = *seen_;
    shared.round = round;
    auto const players = static_cast<std::size_t>(options_.processes);
    for (std::size_t i = 0; i < players; ++i) ::sem_post(&shared.go.at(i));
    timespec until{};
    ::clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 2 * options_.deadline.count() / 1000 + 1;
    for (std::size_t i = 0; i < players; ++i) {
      if (::sem_clockwait(&shared.over, CLOCK_MONOTONIC, &until) != 0) return false;
    }
    return true;
  }

  void count_loads() {
    for (int i = 0; i < drawn_from(options_.missing); ++i) {
      auto const at = static_cast<std::size_t>(i);
      auto const loads = seen_->loaded.at(at).exchange(0);
      bool const asked = seen_->asked.at(at).exchange(0) > 0;
      asked_ += asked;
      loads_ += loads;
      crowded_ += loads > 1;
      unloaded_ += asked && loads == 0;
    }
  }

  void tell(std::uint64_t rounds, verdict& how, bool over) {
    auto const count = [](auto const& one) { return static_cast<unsigned long long>(one); };
    auto const& shared = *seen_;
    std::printf("%s of %d processes on a %s: %llu rounds, seed %llu\n", options_.what.c_str(),
                options_.processes, options_.store.c_str(), count(rounds), count(options_.seed));
    std::printf("missing keys asked for %llu, loads %llu; loaded more than once %llu, never %llu\n",
                count(asked_), count(loads_), count(crowded_), count(unloaded_));
    std::printf("loads of what was there %llu, wrong values %llu, errors %llu\n",
                count(shared.needless), count(shared.wrong), count(shared.errors));
    std::printf("calls %llu, calls of a loader %llu, of these for a call's second time %llu\n",
                count(rounds * static_cast<std::uint64_t>(options_.processes)),
                count(shared.loader_calls), count(shared.again));
    std::printf("the slowest call %lld ms\n", static_cast<long long>(shared.slowest_ms));
    for (auto& one : processes_) std::fputs(one.errors().c_str(), stdout);
    if (options_.what == "alone") return;
    how.demand(over, "every call is over by its deadline");
    how.demand(crowded_ == 0 && unloaded_ == 0, "each missing key is loaded once in the fleet");
    how.demand(shared.needless == 0, "what is there is not loaded");
    how.demand(shared.again == 0, "one call of the loader for each call");
    how.demand(shared.wrong == 0, "each value is that of its key");
    how.demand(shared.errors == 0, "nobody has an error, such as the end of its wait");
  }

  many_options options_;
  many_store store_;
  temp_dir folder_;
  figures* seen_ = nullptr;
  std::vector<child_process> processes_;
  std::uint64_t asked_ = 0, loads_ = 0, crowded_ = 0, unloaded_ = 0;
};

bool soak(many_options const& options, std::string const& program) {
  verdict how;
  if (options.what == "trips") {
    judge_trips(options, how);
  } else {
    fleet(options, program).judge(how);
  }
  return how.good;
}

many_options parsed(names const& arguments) {
  constexpr std::uint64_t most_ms = 600'000;
  many_options options;
  options.seed = std::random_device()();
  for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) {
    auto const& name = arguments[i];
    auto const& value = arguments[i + 1];
    auto const up_to = [&](std::uint64_t most) { return number_argument(name, value, most); };
    if (name == "--case")
      options.what = value;
    else if (name == "--store")
      options.store = value;
    else if (name == "--rounds")
      options.rounds = up_to(1'000'000'000);
    else if (name == "--processes")
      options.processes = static_cast<int>(up_to(most_processes));
    else if (name == "--keys")
      options.keys = static_cast<int>(up_to(most_keys / 2));
    else if (name == "--missing")
      options.missing = static_cast<int>(up_to(most_keys / 2));
    else if (name == "--seed")
      options.seed = up_to(std::numeric_limits<std::uint64_t>::max());
    else if (name == "--deadline")
      options.deadline = milliseconds(up_to(most_ms));
    else if (name == "--latency")
      options.latency = milliseconds(up_to(most_ms));
    else
      throw std::runtime_error("no option " + name + "; see --help");
  }
  bool const cases = options.what == "fleet" || options.what == "alone" || options.what == "trips";
  bool const stores = options.store == "redis" || options.store == "cluster";
  bool const sizes = options.processes > 0 && options.missing > 0 &&
                     options.keys > options.missing && options.latency.count() > 0 &&
                     options.deadline.count() > 0 && options.rounds > 0;
  if (!cases || !stores || !sizes || arguments.size() % 2 != 0) {
    throw std::runtime_error(
        "a value is missing, not one of the choices, or 0, or no key of a call would be there; "
        "see --help");
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  names const arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == "--help") {
    std::fputs(help, stdout);
    return 0;
  }
  if (!arguments.empty() && arguments[0] == "--worker") {
    many_options options;
    options.url = arguments.at(1);
    options.shared = arguments.at(2);
    options.what = arguments.at(3);
    options.number = std::stoi(arguments.at(4));
    options.keys = std::stoi(arguments.at(5));
    options.missing = std::stoi(arguments.at(6));
    options.seed = std::stoull(arguments.at(7));
    options.deadline = milliseconds(std::stoll(arguments.at(8)));
    worker(options).run();
    return 0;
  }
  return soak(parsed(arguments), argv[0]) ? 0 : 1;
} catch (std::exception const& e) {
  std::fprintf(stderr, "many_soak: %s\n", e.what());
  return 2;
}
