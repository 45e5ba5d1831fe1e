// Which sources find the keys that are used most? One Redis full of keys, processes that read them
// after Zipf, and the exact counts of the same time as the judge.
#include "scenes/trace.hpp"

#include <boost/asio/as_tuple.hpp>
#include <future>
#include <herdlock/cache.hpp>
#include <regex>
#include <support/redis_server.hpp>

#include "scenes/scenes.hpp"
#include "stage/coroutines.hpp"
#include "stage/own_server.hpp"
#include "stage/place.hpp"
#include "stage/programs.hpp"
#include "stage/zipf.hpp"

namespace herdlock::lab {
namespace trace {
namespace {

using namespace std::chrono_literals;
using herdlock_test::child_process;
using herdlock_test::redis_server;
using words = std::vector<std::string>;

constexpr std::size_t most_keys = 1'000'000;
constexpr std::size_t pairs = 3;

// So many keys, each known by its rank in 14 digits. Throws command_error.
void fill(redis_server const& server, std::size_t keys) {
  constexpr std::size_t at_once = 50'000;
  std::string const script = fmt::format(
      "for n = ARGV[1], ARGV[2] do redis.call('set', string.format('{}%014d', n), "
      "string.rep('x', 16)) end",
      key_prefix);
  for (std::size_t from = 0; from < keys; from += at_once) {
    auto const to = std::min(from + at_once, keys) - 1;
    auto const said =
        server.command({"EVAL", script, "0", fmt::to_string(from), fmt::to_string(to)});
    if (said != "(nil)") throw command_error(exit_code::unavailable, "filling: " + said);
  }
}

// In a process of the fleet, until the board says stop: so many reads at once. Its cache keeps
// nothing near: the server counts only what reaches it.
void read_until_stopped(zipf const& popularity, board& seen, std::string const& url, int callers) {
  store const values = open_here(url);
  cache<std::string> const texts(values,
                                 {.prefix = std::string(key_prefix),
                                  .ttl = 1h,
                                  .near = {.mode = near_cache::off},
                                  .hot = {.keys = hot_keys_options{}, .fleet_threshold = 1000}});
  std::mt19937_64 random(std::random_device{}());
  // All of them on the store's executor, which has one thread.
  auto const read = [&]() -> awaitable<void> {
    while (!seen.now->stop) {
      std::size_t const rank = popularity.draw(random);
      seen.note_read(rank);
      co_await texts.async_get(fmt::format("{:014}", rank), asio::as_tuple(use_awaitable));
    }
  };
  std::vector<std::future<void>> all;
  while (all.size() < static_cast<std::size_t>(callers)) {
    all.push_back(asio::co_spawn(values.get_executor(), read, asio::use_future));
  }
  ++seen.now->joined;
  for (auto& each : all) each.get();
}

class played : public scene {
 public:
  void declare(options& all) override {
    all.number("--keys", keys_, {first_of_all, most_keys}, "Keys in the Redis");
    all.number("--processes", processes_, {1, 256}, "Processes that read them");
    all.number("--callers", callers_, {1, 10'000}, "In each of them, at once");
    all.time("--time", time_, {1ms, 24h}, "How long they read before anybody is asked");
    all.number("--exponent", exponent_, {0, 10}, "Of Zipf's distribution");
    all.choice("--source", source_, {"all", "clients", "lfu", "monitor"}, "Who is asked");
    all.number("--times", times_, {0, 1}, "1 judges how soon they answer");
    all.text("--command", command_,
             "The herdlock that asks them\n(default: the one beside this program)", "FILE");
  }

  void check() override { command_ = herdlock_program(command_); }

  void play(stage& on) override {
    auto const server = own_server<redis_server>(herdlock_test::redis_options{
        .arguments = {"--maxmemory-policy", "allkeys-lfu", "--maxmemory", "4gb"}});
    on.tell("the Redis is filled");
    fill(server, keys_);
    board seen(keys_);
    zipf const popularity(keys_, exponent_);
    on.processes().start_all(processes_, "process", [&](std::size_t) {
      read_until_stopped(popularity, seen, server.url(), callers_);
    });
    on.meanwhile([&seen, next_ns = steady_ns()]() mutable {
      if (steady_ns() < next_ns) return;
      next_ns = steady_ns() + in_ns(1s);
      seen.begin_second();
    });
    on.await("the processes did not begin", [&] { return seen.now->joined == processes_; });
    on.tell("they read");
    auto const before = seen.reads_a_second([&] { on.pass(time_); });
    on.out().line(fmt::format("{} keys after Zipf {:g}, {}: {:.0f} reads/s", keys_, exponent_,
                              counted(processes_, "process", "processes"), before));
    on.out().data()["reads_a_second"] = to_micros(before);
    on.tell("the sources are asked");
    findings const all = ask(on, server, seen, before);
    seen.now->stop = true;
    on.await_end();
    on.tell_nothing();
    judge_trace(all, on.judged());
    on.out().data()["broken"] = on.judged().broken();
  }

 private:
  bool wants(char const* source) const { return source_ == "all" || source_ == source; }

  findings ask(stage& on, redis_server const& server, board& seen, double reads_before) {
    auto const hot = [&](words const& more) {
      words argv{command_, "hot", "--store", server.url(), "--top", "16", "--json"};
      argv.insert(argv.end(), more.begin(), more.end());
      return run(on, seen, std::move(argv));
    };
    words const clients{"--source", "clients"};
    words const lfu{"--source", "lfu", "--max-rate", "10000000"};
    words const monitor{"--source", "monitor", "--for", "2s", "--yes"};
    findings all;
    if (wants("clients")) {
      all.clients = hot(clients);
      // Reports live for some seconds: a machine may have stood still for longer.
      if (all.clients->found < first_of_all) {
        on.pass(2s);
        all.clients = hot(clients);
      }
      tell(on, "clients", *all.clients);
      if (times_ != 0) all.clients_took_s = all.clients->took_s;
    }
    if (wants("lfu")) tell(on, "lfu", all.lfu.emplace(hot(lfu)));
    if (wants("lfu") && times_ != 0) {
      words const beside{"redis-cli", "-p", std::to_string(server.port()), "--hotkeys"};
      std::vector<double> shares;
      while (shares.size() < pairs) {
        double const took_s = tell(on, "redis-cli --hotkeys", run(on, seen, beside)).took_s;
        shares.push_back(tell(on, "lfu", hot(lfu)).took_s / took_s);
      }
      std::sort(shares.begin(), shares.end());
      all.lfu_share = shares[pairs / 2];
      on.out().line(fmt::format("{:<22} {:.2f} of that time, {:.2f} to {:.2f}", "lfu",
                                *all.lfu_share, shares.front(), shares.back()));
      on.out().data()["lfu_beside_redis_cli"] = *all.lfu_share;
    }
    if (wants("monitor")) {
      auto const meanwhile = seen.reads_a_second([&] { all.monitor = hot(monitor); });
      tell(on, "monitor", *all.monitor);
      on.out().line(fmt::format("{:22} {:.0f} reads/s meanwhile, {:.2f} of those before", "",
                                meanwhile, meanwhile / reads_before));
      on.out().data()["reads_a_second_beside_monitor"] = to_micros(meanwhile);
    }
    return all;
  }

  // Beside the truth of the moment when it has answered.
  static finding run(stage& on, board const& seen, words argv) {
    child_process asked({.argv = std::move(argv)});
    auto const began = steady_ns();
    on.await("a source did not answer", [&] { return !asked.running(); });
    double const took_s = in_seconds(steady_ns() - began);
    auto const status = asked.wait();
    if (!status || status->code != 0) {
      throw command_error(exit_code::unavailable, asked.output() + asked.errors());
    }
    std::string const text = asked.output();
    std::regex const key(fmt::format("key(?:name)?\"?: *\"{}([0-9]+)\"", key_prefix));
    std::vector<std::size_t> ranks;  // the hottest first
    for (std::sregex_iterator at(text.begin(), text.end(), key), end; at != end; ++at) {
      ranks.push_back(std::stoul((*at)[1]));
    }
    if (auto const notes = asked.errors(); !notes.empty()) on.out().line(notes);
    return {ranks, seen.truth(), took_s};
  }

  static finding const& tell(stage& on, char const* who, finding const& one) {
    on.out().line(fmt::format("{:<22} {} of the first 16, {} of the first 8, in {:.2f} s", who,
                              one.of_16, one.of_8, one.took_s));
    on.out().data()["found"].push_back({{"source", who},
                                        {"of_the_first_16", one.of_16},
                                        {"of_the_first_8", one.of_8},
                                        {"seconds", to_micros(one.took_s)}});
    return one;
  }

  std::uint64_t keys_ = most_keys;
  int processes_ = 2;
  int callers_ = 32;  // of each process
  milliseconds time_{20'000};
  double exponent_ = 0.99;
  std::string source_ = "all";
  int times_ = 0;
  std::string command_;
};

}  // namespace
}  // namespace trace

listed_scene const trace_scene{"trace", "Which sources find the keys that are read most?",
#include "scenes/trace_help.txt"
                               , false, made<trace::played>};

}  // namespace herdlock::lab
