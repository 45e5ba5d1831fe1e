// Which sources find the keys that are used most? One Redis full of keys, processes that read them
// after Zipf, and the exact counts of the same time as the judge.
#include "scenes/trace.hpp"

#include <regex>
#include <support/child_process.hpp>
#include <support/redis_server.hpp>

#include "scenes/scenes.hpp"
#include "stage/own_server.hpp"
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

struct terms {
  std::uint64_t keys = most_keys;
  int processes = 2;
  int callers = 32;  // of each process
  milliseconds time{20'000};
  double exponent = 0.99;
  std::string source = "all";
  int times = 0;
  std::string command;
};

class played : public scene {
 public:
  void declare(options& all) override {
    all.number("--keys", how_.keys, {first_of_all, most_keys}, "Keys in the Redis");
    all.number("--processes", how_.processes, {1, 256}, "Processes that read them");
    all.number("--callers", how_.callers, {1, 10'000}, "In each of them, at once");
    all.time("--time", how_.time, {1ms, 24h}, "How long they read before anybody is asked");
    all.number("--exponent", how_.exponent, {0, 10}, "Of Zipf's distribution");
    all.choice("--source", how_.source, {"all", "clients", "lfu", "monitor"}, "Who is asked");
    all.number("--times", how_.times, {0, 1}, "1 judges how soon they answer");
    all.text("--command", how_.command,
             "The herdlock that asks them\n(default: the one beside this program)", "FILE");
  }

  void check() override { how_.command = herdlock_program(how_.command); }

  void play(stage& on) override {
    auto const server = own_server<redis_server>(herdlock_test::redis_options{
        .arguments = {"--maxmemory-policy", "allkeys-lfu", "--maxmemory", "4gb"}});
    on.tell("the Redis is filled");
    fill(server, how_.keys);
    board seen(how_.keys);
    zipf const popularity(how_.keys, how_.exponent);
    for (int i = 0; i < how_.processes; ++i) {
      on.processes().start(fmt::format("process {}", i + 1), [&] {
        read_until_stopped(popularity, seen, server.url(), how_.callers);
      });
    }
    auto next_ns = steady_ns();
    on.meanwhile([&seen, next_ns]() mutable {
      if (steady_ns() < next_ns) return;
      next_ns = steady_ns() + in_ns(1s);
      seen.begin_second();
    });
    on.await("the processes did not begin", [&] { return seen.now->joined == how_.processes; });
    auto const read_before = seen.now->reads.load();
    auto const began = steady_ns();
    on.tell("they read");
    on.pass(how_.time);
    reads_a_second_ = reads_a_second(seen, read_before, in_seconds(steady_ns() - began));
    on.out().line(fmt::format("{} keys after Zipf {:g}, {}: {:.0f} reads/s", how_.keys,
                              how_.exponent, counted(how_.processes, "process", "processes"),
                              reads_a_second_));
    on.out().data()["reads_a_second"] = to_micros(reads_a_second_);
    on.tell("the sources are asked");
    findings const all = ask(on, server, seen);
    seen.now->stop = true;
    on.await_end();
    on.tell_nothing();
    judge_trace(all, how_.times != 0 ? times::judged : times::as_they_are, on.judged());
    on.out().data()["broken"] = on.judged().broken();
  }

 private:
  struct answer {
    std::vector<std::size_t> ranks;  // the hottest first
    double took_s = 0;
  };

  static double reads_a_second(board const& seen, std::uint64_t before, double seconds) {
    return static_cast<double>(seen.now->reads - before) / seconds;
  }
  bool wants(char const* source) const { return how_.source == "all" || how_.source == source; }

  findings ask(stage& on, redis_server const& server, board const& seen) {
    findings all;
    if (wants("clients")) {
      auto made = hot(on, server, {"--source", "clients"});
      // Reports live for some seconds: a machine may have stood still for longer.
      if (made.ranks.size() < first_of_all) {
        on.pass(2s);
        made = hot(on, server, {"--source", "clients"});
      }
      all.clients = told(on, "clients", made, seen);
    }
    if (wants("lfu")) {
      all.lfu = told(on, "lfu", survey_by_lfu(on, server), seen);
      if (how_.times != 0) all.lfu_share = share_of_redis_cli(on, server, seen);
    }
    if (wants("monitor")) {
      auto const before = seen.now->reads.load();
      auto const made = hot(on, server, {"--source", "monitor", "--for", "2s", "--yes"});
      auto const meanwhile = reads_a_second(seen, before, made.took_s);
      all.monitor = told(on, "monitor", made, seen);
      on.out().line(fmt::format("{:22} {:.0f} reads/s meanwhile, {:.2f} of those before", "",
                                meanwhile, meanwhile / reads_a_second_));
      on.out().data()["reads_a_second_beside_monitor"] = to_micros(meanwhile);
    }
    return all;
  }

  double share_of_redis_cli(stage& on, redis_server const& server, board const& seen) const {
    std::vector<double> shares;
    while (shares.size() < pairs) {
      auto const port = std::to_string(server.port());
      auto const beside = run(on, {"redis-cli", "-p", port, "--hotkeys"});
      told(on, "redis-cli --hotkeys", beside, seen);
      auto const again = survey_by_lfu(on, server);
      told(on, "lfu", again, seen);
      shares.push_back(again.took_s / beside.took_s);
    }
    std::sort(shares.begin(), shares.end());
    on.out().line(fmt::format("{:<22} {:.2f} of that time, {:.2f} to {:.2f}", "lfu",
                              shares[pairs / 2], shares.front(), shares.back()));
    on.out().data()["lfu_beside_redis_cli"] = shares[pairs / 2];
    return shares[pairs / 2];
  }

  answer survey_by_lfu(stage& on, redis_server const& server) const {
    return hot(on, server, {"--source", "lfu", "--max-rate", "10000000"});
  }
  answer hot(stage& on, redis_server const& server, words const& more) const {
    words argv{how_.command, "hot", "--store", server.url(), "--top", "16", "--json"};
    argv.insert(argv.end(), more.begin(), more.end());
    return run(on, std::move(argv));
  }

  static answer run(stage& on, words argv) {
    child_process asked({.argv = std::move(argv)});
    auto const began = steady_ns();
    on.await("a source did not answer", [&] { return !asked.running(); });
    answer made{.ranks = {}, .took_s = in_seconds(steady_ns() - began)};
    auto const status = asked.wait();
    if (!status || status->code != 0) {
      throw command_error(exit_code::unavailable, asked.output() + asked.errors());
    }
    std::string const text = asked.output();
    std::regex const key("key(?:name)?\"?: *\"" + std::string(key_prefix) + "([0-9]+)\"");
    for (std::sregex_iterator at(text.begin(), text.end(), key), end; at != end; ++at) {
      made.ranks.push_back(std::stoul((*at)[1]));
    }
    if (auto const notes = asked.errors(); !notes.empty()) on.out().line(notes);
    return made;
  }

  // Beside the truth of this moment.
  static finding told(stage& on, std::string const& who, answer const& made, board const& seen) {
    finding const one(made.ranks, seen.truth(), made.took_s);
    on.out().line(fmt::format("{:<22} {} of the first 16, {} of the first 8, in {:.2f} s", who,
                              one.of_16, one.of_8, one.took_s));
    on.out().data()["found"].push_back({{"source", who},
                                        {"of_the_first_16", one.of_16},
                                        {"of_the_first_8", one.of_8},
                                        {"seconds", to_micros(one.took_s)}});
    return one;
  }

  terms how_;
  double reads_a_second_ = 0;
};

constexpr char const* help =
    R"(Sources of `herdlock hot`, beside the exact counts of the same ten seconds:
  clients  what the processes report to each other: fifteen of the true first
           sixteen, and all of the first eight
  lfu      the server's own counters: fourteen of sixteen, in a quarter of the time
           that `redis-cli --hotkeys` takes: the median of three pairs, one after the
           other
  monitor  for two seconds: what it finds, and how many reads there are meanwhile
Times are judged with --times 1: a machine may have other work.

Exit status: 0; 1 when that is not so; 64 for usage; 69 when there is no
redis-server, a process failed, or a source did not answer.

Examples:
  herdlock-lab trace --times 1
  herdlock-lab trace --source clients --keys 20000 --exponent 1.2 --time 12s)";

}  // namespace
}  // namespace trace

listed_scene const trace_scene{"trace", "Which sources find the keys that are read most?",
                               trace::help, false, made<trace::played>};

}  // namespace herdlock::lab
