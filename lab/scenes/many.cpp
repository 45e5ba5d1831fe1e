// A fleet whose processes ask for many keys at once, in sets that overlap.
//
// In each round the keys are new. Of those that a call names some are put before, the others are
// missing; each process draws its own from a third more of both kinds, in an order of its own.
#include "scenes/many.hpp"

#include <algorithm>
#include <random>

#include "scenes/scenes.hpp"
#include "stage/place.hpp"

namespace herdlock::lab {
namespace many {
namespace {

int drawn_from(int count) { return count + (count + 2) / 3; }

std::string missing_key(std::uint64_t round, int number) {
  return fmt::format("{}:missing:{}", round, number);
}
std::string put_key(std::uint64_t round, int number) {
  return fmt::format("{}:there:{}", round, number);
}

// The number of a missing key; nothing for one that was put.
std::optional<std::size_t> number_of(std::string const& key) {
  if (key.find(":missing:") == key.npos) return std::nullopt;
  return std::stoul(key.substr(key.rfind(':') + 1));
}

cache<std::string> opened(terms const& how, std::string const& url) {
  cache_options all{.prefix = "many:", .ttl = std::chrono::hours(1), .wait = how.deadline};
  all.near = near_cache::off;
  return cache<std::string>(open_here(url), all);
}

class worker {
 public:
  worker(terms const& how, board& seen, std::string const& url, int number)
      : how_(how), seen_(seen), number_(number), cached_(opened(how, url)) {}

  void run() {
    while (true) {
      while (::sem_wait(&seen_.go[static_cast<std::size_t>(number_)]) != 0) {
      }
      draw(seen_.round);
      loads_ = 0;
      auto const began = steady_ns();
      if (how_.what == "alone") {
        load_alone();
      } else {
        check(
            cached_.get_many_or_load(keys_, [this](names const& wanted) { return load(wanted); }));
      }
      raise_to(seen_.slowest_ns, steady_ns() - began);
      ++seen_.over;
    }
  }

 private:
  void draw(std::uint64_t round) {
    std::seed_seq seed{how_.seed, round, static_cast<std::uint64_t>(number_)};
    dice_.seed(seed);
    auto const take = [&](int count, auto const& key_of) {
      names all;
      for (int i = 0; i < drawn_from(count); ++i) all.push_back(key_of(round, i));
      std::shuffle(all.begin(), all.end(), dice_);
      keys_.insert(keys_.end(), all.begin(), all.begin() + count);
    };
    keys_.clear();
    take(how_.missing, missing_key);
    take(how_.keys - how_.missing, put_key);
    std::shuffle(keys_.begin(), keys_.end(), dice_);
    for (auto const& key : keys_) {
      if (auto const number = number_of(key)) ++seen_.asked[*number];
    }
  }

  values load(names const& wanted) {
    ++seen_.loader_calls;
    if (++loads_ > 1) {
      ++seen_.again;
      fmt::print(stderr, "process {}, call {} of one loader: {}\n", number_, loads_,
                 fmt::join(wanted, " "));
    }
    for (auto const& key : wanted) {
      if (auto const number = number_of(key)) {
        ++seen_.loaded[*number];
      } else {
        ++seen_.needless;
      }
    }
    std::this_thread::sleep_for(milliseconds(std::uniform_int_distribution(5, 20)(dice_)));
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
        fmt::print(stderr, "process {}, the first error of a call, {}: {}\n", number_, keys_[i],
                   got[i].error().message);
      }
      if (got[i].has_value() && got[i].value() != value_of(keys_[i])) ++seen_.wrong;
    }
    seen_.errors += errors;
  }

  terms const& how_;
  board& seen_;
  int const number_;
  cache<std::string> cached_;
  std::mt19937_64 dice_;
  names keys_;
  int loads_ = 0;  // of this call
};

class played : public scene {
 public:
  void declare(options& all) override {
    constexpr range<milliseconds> up_to_minutes{milliseconds(1), std::chrono::minutes(10)};
    all.choice("--case", how_.what, {"fleet", "alone", "trips"}, "What is tried: see below");
    all.choice("--store", how_.store, {"redis", "cluster"}, "One Redis, or three masters");
    all.number("--rounds", how_.rounds, {1, 1'000'000'000}, "Calls of each process");
    all.number("--processes", how_.processes, {1, most_processes}, "Processes of the fleet");
    all.number("--keys", how_.keys, {2, most_keys / 2}, "Of one call");
    all.number("--missing", how_.missing, {1, most_keys / 2}, "Of these, keys to be loaded");
    all.number("--seed", how_.seed, {0, std::numeric_limits<std::int64_t>::max()},
               "Draws the same keys again; 0: others each time");
    all.time("--deadline", how_.deadline, up_to_minutes, "Of a call");
    all.time("--latency", how_.latency, up_to_minutes, "trips: of the line, each way");
  }

  void check() override {
    if (how_.missing < how_.keys) return;
    throw command_error(exit_code::usage,
                        "--missing must be less than --keys, or no key of a call "
                        "would be there");
  }

  void play(stage& on) override {
    if (how_.seed == 0) how_.seed = std::random_device()();
    if (how_.what == "trips") {
      play_trips(on, how_);
    } else {
      play_fleet(on);
    }
    on.out().data()["broken"] = on.judged().broken();
  }

 private:
  void play_fleet(stage& on) const {
    auto const at = own_server<server>(how_.store);
    shared<board> seen;
    for (auto& each : seen->go) ::sem_init(&each, 1, 0);
    for (int i = 0; i < how_.processes; ++i) {
      on.processes().start(fmt::format("process {}", i),
                           [&, i] { worker(how_, *seen, at.url(), i).run(); });
    }
    auto const filler = opened(how_, at.url());
    loads all;
    std::uint64_t round = 0;
    for (; all.is_over && round < how_.rounds; ++round) {
      on.tell("rounds", static_cast<double>(round) / static_cast<double>(how_.rounds));
      names there;
      for (int i = 0; i < drawn_from(how_.keys - how_.missing); ++i) {
        there.push_back(put_key(round, i));
      }
      put_all(filler, there);
      seen->round = round;
      all.is_over = play_round(on, *seen);
      all.add(*seen);
    }
    on.clear();
    tell(on, *seen, all, round);
    if (how_.what != "alone") judge_fleet(*seen, all, on.judged());
  }

  // False when somebody has not come to an end: a call itself ends at the deadline.
  bool play_round(stage& on, board& seen) const {
    seen.over = 0;
    for (int i = 0; i < how_.processes; ++i) ::sem_post(&seen.go[static_cast<std::size_t>(i)]);
    return on.waited_for([&] { return seen.over == how_.processes; },
                         2 * how_.deadline + milliseconds(1000));
  }

  void tell(stage& on, board const& seen, loads const& all, std::uint64_t rounds) const {
    on.tell_nothing();
    report& out = on.out();
    out.line(fmt::format("{} of {} on a {}", how_.what,
                         counted(how_.processes, "process", "processes"), how_.store));
    out.figure("rounds", rounds);
    out.figure("seed", how_.seed);
    out.figure("missing keys asked for", all.asked);
    out.figure("loads", all.loaded);
    out.figure("loaded more than once", all.crowded);
    out.figure("never loaded", all.unloaded);
    out.figure("loads of what was there", seen.needless.load());
    out.figure("wrong values", seen.wrong.load());
    out.figure("errors", seen.errors.load());
    out.figure("calls", rounds * static_cast<std::uint64_t>(how_.processes));
    out.figure("calls of a loader", seen.loader_calls.load());
    out.figure("of these for a call's second time", seen.again.load());
    out.figure("slowest call", in_ms(seen.slowest_ns), "ms");
  }

  terms how_;
};

constexpr char const* help =
    R"(Cases:
  fleet  each process calls get_many_or_load in each round
  alone  each process reads, and loads what it misses itself: so it can be seen that
         the judge sees
  trips  one process alone behind a line of that latency, which counts its round
         trips: a call in each round, until one of them makes no more than are
         promised

Exit status: 0; 1 when a missing key was not loaded exactly once in the fleet or one
that was there was loaded at all, when a call's loader was called twice, when a value
was wrong or an error, when a call was not over at the deadline (a deadlock), or when
each call made more than 3 round trips and one call of the loader. `alone` judges
nothing. 69 when there is no redis-server, or a process failed.
)";

}  // namespace
}  // namespace many

listed_scene const many_scene{"many", "Ask for many keys at once; is each loaded once?", many::help,
                              false, made<many::played>};

}  // namespace herdlock::lab
