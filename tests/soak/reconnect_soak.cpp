// Members of a fleet that report their hot keys lose their connections all at once, beside a lock
// of the same server; and a control in the same run, whose members do not report.
//
//   reconnect_soak [--members N] [--processes N] [--keys N] [--key-bytes N] [--time MS]
//                  [--judge 0|1]
//
// The members are store handles with a cache each, in so many processes (20 at most) with nice 19.
// Each of them reads --keys keys now and then, so a report names them all. Once all have heard of
// each other their connections are cut (CLIENT KILL USER member). Then, for --time, a lock with a
// ttl of 3 s is held, and lost or not, and another connection asks PING each millisecond. It prints
// for each part the leases lost, PING's p99.9 and slowest, what the server sent, and how much of a
// processor it used.
//
// Ends with 1 when the control lost no lease and the other part did (--judge 0: never). A control
// that loses one says that the machine was too busy: such a run does not count.
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <cstdio>
#include <herdlock/herdlock.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <support/child_process.hpp>
#include <support/redis_server.hpp>
#include <support/temp_dir.hpp>
#include <thread>
#include <vector>

#include "named_options.hpp"
#include "verdict.hpp"

namespace {

using namespace std::chrono_literals;
using namespace herdlock;
using namespace herdlock_test;
using words = std::vector<std::string>;

constexpr std::size_t most_processes = 20;
constexpr milliseconds ttl{3000};
// Each key is read once in that time, so a report names it (a hundredth of the threshold of 100).
constexpr milliseconds round{4000};

struct process_figures {
  std::atomic<std::uint64_t> known{0};     // processes of the fleet: the least of its members
  std::atomic<std::uint64_t> reported{0};  // by all of them
};
struct figures {
  std::array<process_figures, most_processes> of;
  std::atomic<int> joined{0};  // gives each process its number
  std::atomic<int> ready{0};
  std::atomic<bool> stop{false};
};

struct soak_options {
  std::size_t members = 300;
  std::size_t processes = 20;
  std::size_t keys = 64;
  std::size_t key_bytes = 250;
  milliseconds time{15'000};
  int judge = 1;
  // Of the processes that it starts.
  std::string url{};
  std::string shared{};
  int reports = 1;

  std::size_t members_of(std::size_t process) const {
    return members / processes + (process < members % processes ? 1 : 0);
  }
};

// ------------------------------------------------------------------------------- a process

class member {
 public:
  explicit member(soak_options const& options) : cache_(open_store(options.url), how(options)) {}

  void read(std::string const& key) {
    try {
      cache_.get(key);
    } catch (error const&) {  // its connection is cut: that is the test
    }
  }
  hot_fleet_stats stats() const { return cache_.fleet_stats(); }

 private:
  static cache_options how(soak_options const& options) {
    cache_options made{.prefix = "fleet:", .near = near_cache::off};
    made.hot_keys = hot_keys_options{.threshold = 1e6};
    made.fleet_threshold = options.reports != 0 ? 100 : 0;
    return made;
  }

  cache<std::string> cache_;
};

void be_members(soak_options const& options) {
  ::setpriority(PRIO_PROCESS, 0, 19);
  auto& all = shared_figures<figures>(options.shared);
  auto const process = static_cast<std::size_t>(all.joined++);
  auto& own = all.of.at(process);
  std::vector<std::unique_ptr<member>> members;
  for (std::size_t i = 0; i < options.members_of(process); ++i) {
    members.push_back(std::make_unique<member>(options));
  }
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < options.keys; ++i) {
    auto key = std::to_string(i);
    keys.push_back(std::string(std::max(options.key_bytes, key.size()) - key.size(), 'k') + key);
  }
  ++all.ready;
  auto const pause = round / static_cast<int>(options.keys);
  for (std::size_t turn = 0; !all.stop; ++turn) {
    auto const next = clock::now() + pause;
    std::uint64_t known = options.members, reported = 0;
    for (auto const& one : members) {
      one->read(keys[turn % keys.size()]);
      auto const stats = one->stats();
      known = std::min<std::uint64_t>(known, stats.processes);
      reported += stats.reported;
    }
    own.known = known;
    own.reported = reported;
    auto const left = std::chrono::duration_cast<milliseconds>(next - clock::now());
    if (left > 0ms) ::poll(nullptr, 0, static_cast<int>(left.count()));
  }
}

// --------------------------------------------------------------------------- what is beside it

/// Holds a lock, and takes it again whenever it is lost.
class victim {
 public:
  explicit victim(std::string const& url) : lock_(open_store(url), "beside-the-fleet") {
    take();
    thread_ = std::jthread([this](std::stop_token const& stop) { watch(stop); });
  }
  std::uint64_t lost() const { return lost_; }

 private:
  void take() { held_ = lock_.acquire({.ttl = ttl, .wait = wait_forever}); }
  void watch(std::stop_token const& stop) {
    while (!stop.stop_requested()) {
      if (!held_ || !held_->valid()) {
        ++lost_;
        try {
          take();
        } catch (error const&) {
        }
      }
      ::poll(nullptr, 0, 5);
    }
    held_.reset();
  }

  herdlock::lock lock_;
  acquired held_;
  std::atomic<std::uint64_t> lost_{0};
  std::jthread thread_;
};

/// PING each millisecond, over one connection.
class pinger {
 public:
  explicit pinger(std::uint16_t port) : socket_(io_) {
    socket_.connect({boost::asio::ip::address_v4::loopback(), port});
    thread_ = std::jthread([this](std::stop_token const& stop) { ask(stop); });
  }
  /// In milliseconds, in order.
  std::vector<double> end() {
    thread_ = {};
    std::sort(took_.begin(), took_.end());
    return took_;
  }

 private:
  void ask(std::stop_token const& stop) {
    while (!stop.stop_requested()) {
      auto const began = std::chrono::steady_clock::now();
      boost::asio::write(socket_, boost::asio::buffer(std::string("PING\r\n")));
      std::string answer;
      boost::asio::read_until(socket_, boost::asio::dynamic_buffer(answer), "\r\n");
      std::chrono::duration<double, std::milli> const took =
          std::chrono::steady_clock::now() - began;
      took_.push_back(took.count());
      ::poll(nullptr, 0, 1);
    }
  }

  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_;
  std::vector<double> took_;
  std::jthread thread_;
};

// ------------------------------------------------------------------------------------- a part

struct outcome {
  std::uint64_t lost = 0;
  std::vector<double> pings;
};

class part {
 public:
  part(soak_options const& options, words argv, int reports)
      : options_(options),
        reports_(reports),
        server_({.users = {"member on >sesame ~* &* +@all"}}),
        seen_(shared_figures<figures>((folder_.path() / "figures").string())) {
    auto const url = "redis://member:sesame@127.0.0.1:" + std::to_string(server_.port());
    for (auto const& one : words{"--url", url, "--shared", (folder_.path() / "figures").string(),
                                 "--reports", std::to_string(reports)}) {
      argv.push_back(one);
    }
    for (std::size_t i = 0; i < options_.processes; ++i) {
      processes_.emplace_back(child_options{.argv = argv});
    }
  }

  outcome play() {
    wait_for([&] { return seen_.ready == static_cast<int>(options_.processes); });
    await_each_other();
    // What came at once when they began is over.
    ::poll(nullptr, 0, 2 * static_cast<int>(round.count()));
    auto const began = server_figures();
    ::poll(nullptr, 0, static_cast<int>(options_.time.count()));
    std::printf("%s: before the cut %s\n", name(), since(began).c_str());
    outcome found;
    victim beside(server_.url());
    pinger asks(server_.port());
    auto const before = server_figures();
    server_.command({"CLIENT", "KILL", "USER", "member"});
    ::poll(nullptr, 0, static_cast<int>(options_.time.count()));
    found.pings = asks.end();
    found.lost = beside.lost();
    tell(found, before);
    seen_.stop = true;
    for (auto& one : processes_) one.wait(60s);
    return found;
  }

 private:
  bool all_know_each_other() const {
    if (reports_ == 0) return true;
    for (std::size_t i = 0; i < options_.processes; ++i) {
      if (seen_.of.at(i).known < options_.members) return false;
    }
    return true;
  }

  // A server that cannot keep up never lets them know all others.
  void await_each_other() {
    auto const until = clock::now() + 60s;
    wait_for([&] { return all_know_each_other() || clock::now() > until; });
    if (all_know_each_other()) return;
    std::uint64_t least = options_.members;
    for (std::size_t i = 0; i < options_.processes; ++i) {
      least = std::min<std::uint64_t>(least, seen_.of.at(i).known);
    }
    std::printf("after a minute there is one who knows %llu of them only\n",
                static_cast<unsigned long long>(least));
  }

  template <class Condition>
  void wait_for(Condition holds) {
    auto const until = clock::now() + 180s;
    while (!holds()) {
      for (auto& one : processes_) {
        if (!one.running()) throw std::runtime_error("a process has ended: " + one.errors());
      }
      if (clock::now() > until) throw std::runtime_error("the members do not start");
      ::poll(nullptr, 0, 50);
    }
  }

  struct of_server {
    double sent_mb = 0, used_s = 0;
    std::uint64_t reported = 0;
  };
  of_server server_figures() const {
    of_server now;
    for (std::size_t i = 0; i < options_.processes; ++i) now.reported += seen_.of.at(i).reported;
    auto const info = server_.command({"INFO", "all"});
    auto const number = [&](std::string const& name) {
      auto const at = info.find("\n" + name + ":");
      return at == std::string::npos ? 0.0 : std::stod(info.substr(at + name.size() + 2));
    };
    now.sent_mb = number("total_net_output_bytes") / 1e6;
    now.used_s = number("used_cpu_sys") + number("used_cpu_user");
    return now;
  }

  char const* name() const { return reports_ != 0 ? "with reports" : "control     "; }

  std::string since(of_server const& before) const {
    auto const now = server_figures();
    double const seconds = static_cast<double>(options_.time.count()) / 1000;
    std::array<char, 200> text{};
    std::snprintf(text.data(), text.size(),
                  "the server sent %.1f MB/s and used %.0f %% of a processor; %llu reports",
                  (now.sent_mb - before.sent_mb) / seconds,
                  (now.used_s - before.used_s) / seconds * 100,
                  static_cast<unsigned long long>(now.reported - before.reported));
    return text.data();
  }

  void tell(outcome const& found, of_server const& before) const {
    auto const at = [&](double share) {
      auto const last = found.pings.size() - 1;
      return found.pings[std::min(
          last, static_cast<std::size_t>(static_cast<double>(found.pings.size()) * share))];
    };
    std::printf(
        "%s: leases lost %llu; PING %zu times: p50 %.2f ms, p99.9 %.1f ms, slowest %.1f ms; %s\n",
        name(), static_cast<unsigned long long>(found.lost), found.pings.size(), at(0.5), at(0.999),
        found.pings.back(), since(before).c_str());
    std::fflush(stdout);
  }

  soak_options const& options_;
  int const reports_;
  temp_dir folder_;
  redis_server server_;
  figures& seen_;
  std::vector<child_process> processes_;
};

soak_options parsed(words const& arguments) {
  soak_options options;
  read_options(arguments, {{"--members", put_number(options.members)},
                           {"--processes", put_number(options.processes)},
                           {"--keys", put_number(options.keys)},
                           {"--key-bytes", put_number(options.key_bytes)},
                           {"--time", put_ms(options.time)},
                           {"--judge", put_number(options.judge)},
                           {"--url", put_text(options.url)},
                           {"--shared", put_text(options.shared)},
                           {"--reports", put_number(options.reports)}});
  bool const is_size = options.processes >= 1 && options.processes <= most_processes &&
                       options.members >= options.processes && options.keys >= 1 &&
                       options.keys <= 64;
  if (!is_size || arguments.size() % 2 != 0) throw std::runtime_error("see the top of the source");
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  words const all(argv, argv + argc);
  auto const options = parsed(words(all.begin() + 1, all.end()));
  if (!options.url.empty()) {
    be_members(options);
    return 0;
  }
  std::printf(
      "%zu members in %zu processes, %zu keys of %zu bytes in a report, a lock of %lld ms\n",
      options.members, options.processes, options.keys, options.key_bytes,
      static_cast<long long>(ttl.count()));
  auto const control = part(options, all, 0).play();
  auto const reporting = part(options, all, 1).play();
  if (control.lost != 0) std::printf("the control lost a lease: this run does not count\n");
  verdict how;
  how.demand(reporting.lost == 0 || control.lost != 0 || options.judge == 0,
             "no lease is lost when all members of a fleet reconnect");
  return how.good ? 0 : 1;
} catch (std::exception const& e) {
  std::fprintf(stderr, "reconnect_soak: %s\n", e.what());
  return 2;
}
