// A fleet whose processes ask for many keys at once, in sets that overlap.
//
// In each round the keys are new. Of those that a call names some are put before, the others are
// missing; each process draws its own from a third more of both kinds, in an order of its own.
#include "scenes/many.hpp"

#include <boost/asio/use_future.hpp>
#include <random>
#include <support/as_result.hpp>
#include <support/redis_cluster.hpp>

#include "scenes/scenes.hpp"
#include "stage/own_server.hpp"
#include "stage/place.hpp"

namespace herdlock::lab {
namespace many {

void put_all(cache<std::string> const& cached, names const& keys) {
  std::vector<std::future<result<void>>> puts;
  for (auto const& key : keys) {
    auto when_done = herdlock_test::as_result(boost::asio::use_future);
    puts.push_back(cached.async_put(key, value_of(key), when_done));
  }
  for (auto& put : puts) put.get().value();
}

namespace {

// Those from which each process draws so many.
names all_keys(char const* kind, std::uint64_t round, int drawn) {
  names all;
  for (int i = 0; i < drawn + (drawn + 2) / 3; ++i) {
    all.push_back(fmt::format("{}:{}:{}", kind, round, i));
  }
  return all;
}

// The number of a missing key; nothing for one that was put.
std::optional<std::size_t> number_of(std::string const& key) {
  if (!key.starts_with("missing:")) return std::nullopt;
  return std::stoul(key.substr(key.rfind(':') + 1));
}

cache<std::string> opened(terms const& how, std::string const& url) {
  return cache<std::string>(open_here(url), {.prefix = "many:",
                                             .ttl = std::chrono::hours(1),
                                             .wait = how.deadline,
                                             .near = {.mode = near_cache::off}});
}

class worker {
 public:
  worker(terms const& how, board& seen, std::string const& url, std::size_t number)
      : how_(how), seen_(seen), number_(number), cached_(opened(how, url)) {}

  void run() {
    while (true) {
      while (::sem_wait(&seen_.go[number_]) != 0) {
      }
      draw();
      loads_ = 0;
      ++seen_.calls;
      auto const began = steady_ns();
      if (how_.what == "alone") {
        load_alone();
      } else {
        load_guarded();
      }
      raise_to(seen_.slowest_ns, steady_ns() - began);
      ++seen_.over;
    }
  }

 private:
  void draw() {
    std::uint64_t const round = seen_.round;
    std::seed_seq seed{how_.seed, round, number_};
    dice_.seed(seed);
    keys_.clear();
    for (auto const& [kind, count] :
         {std::pair("missing", how_.missing), {"there", how_.keys - how_.missing}}) {
      auto const all = all_keys(kind, round, count);
      std::sample(all.begin(), all.end(), std::back_inserter(keys_), count, dice_);
    }
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

  void load_guarded() {
    auto const got =
        cached_.get_many_or_load(keys_, [this](names const& wanted) { return load(wanted); });
    int errors = 0;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      seen_.wrong += got[i].has_value() && got[i].value() != value_of(keys_[i]);
      if (!got[i].has_error() || ++errors > 1) continue;
      fmt::print(stderr, "process {}, the first error of a call, {}: {}\n", number_, keys_[i],
                 got[i].error().message);
    }
    seen_.errors += errors;
  }

  terms const& how_;
  board& seen_;
  std::size_t const number_;
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
                        "--missing must be less than --keys, or no key of a call would be there");
  }

  void play(stage& on) override {
    if (how_.seed == 0) how_.seed = std::random_device()();
    if (how_.what == "trips") {
      play_trips(on, how_);
    } else if (how_.store == "redis") {
      play_fleet(on, own_server<herdlock_test::redis_server>());
    } else {
      play_fleet(on, own_server<herdlock_test::redis_cluster>());
    }
    on.out().data()["broken"] = on.judged().broken();
  }

 private:
  template <class Server>
  void play_fleet(stage& on, Server const& server) const {
    shared<board> seen;
    for (auto& each : seen->go) ::sem_init(&each, 1, 0);
    on.processes().start_all(how_.processes, "process", [&](std::size_t number) {
      worker(how_, *seen, server.url(), number).run();
    });
    auto const filler = opened(how_, server.url());
    while (seen->late == 0 && seen->round < how_.rounds) {
      on.tell("rounds", static_cast<double>(seen->round) / how_.rounds);
      put_all(filler, all_keys("there", ++seen->round, how_.keys - how_.missing));
      seen->over = 0;
      for (int i = 0; i < how_.processes; ++i) ::sem_post(&seen->go[i]);
      // A call itself ends at the deadline.
      seen->late = !on.waited_for([&] { return seen->over == how_.processes; },
                                  2 * how_.deadline + milliseconds(1000));
      seen->end_round();
    }
    on.clear();
    on.tell_nothing();
    report& out = on.out();
    out.line(fmt::format("{} of {} on a {}", how_.what,
                         counted(how_.processes, "process", "processes"), how_.store));
    out.figure("seed", how_.seed);
    report_counts(counts(*seen), out);
    out.figure("slowest call", in_ms(seen->slowest_ns), "ms");
    if (how_.what != "alone") judge_counts(counts(*seen), on.judged());
  }

  terms how_;
};

}  // namespace
}  // namespace many

listed_scene const many_scene{"many", "Ask for many keys at once; is each loaded once?",
#include "scenes/many_help.txt"
                              , false, made<many::played>};

}  // namespace herdlock::lab
