// Members of a fleet that report their hot keys lose their connections all at once, beside a lock
// of the same server; and a control in the same run, whose members do not report.
#include "scenes/reconnect.hpp"

#include <sys/resource.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <herdlock/herdlock.hpp>
#include <numeric>
#include <support/redis_server.hpp>

#include "scenes/scenes.hpp"
#include "stage/own_server.hpp"
#include "stage/place.hpp"

namespace herdlock::lab {
namespace reconnect {
namespace {

using herdlock_test::redis_server;
using std::chrono::seconds;

constexpr milliseconds ttl{3000};
// Each key is read once in that time, so a report names it (a hundredth of the threshold of 100).
constexpr milliseconds round{4000};

struct terms {
  std::size_t members = 300, processes = 20;
  std::size_t keys = 64, key_bytes = 250;
  milliseconds time{15'000};
  int judge = 1;
};

void be_members(terms const& how, bool reports, std::string const& url, std::size_t process,
                board& seen) {
  ::setpriority(PRIO_PROCESS, 0, 19);
  cache_options const with{
      .prefix = "fleet:",
      .near = {.mode = near_cache::off},
      .hot = {.keys = hot_keys_options{.threshold = 1e6}, .fleet_threshold = reports ? 100. : 0}};
  std::vector<cache<std::string>> members;
  for (auto i = process; i < how.members; i += how.processes) {
    members.emplace_back(open_here(url), with);
  }
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < how.keys; ++i) {
    keys.push_back(fmt::format("{:k>{}}", std::to_string(i), how.key_bytes));
  }
  ++seen.ready;
  auto const pause = in_ns(round) / static_cast<std::int64_t>(how.keys);
  for (std::size_t turn = 0; !seen.stop; ++turn) {
    auto const next = steady_ns() + pause;
    std::uint64_t known = how.members, reported = 0;
    for (auto const& one : members) {
      try {
        one.get(keys[turn % keys.size()]);
      } catch (error const&) {  // its connection is cut: that is the test
      }
      auto const stats = one.fleet_stats();
      known = std::min<std::uint64_t>(known, stats.processes);
      reported += stats.reported;
    }
    seen.known[process] = known;
    seen.reported[process] = reported;
    std::this_thread::sleep_for(std::chrono::nanoseconds(next - steady_ns()));
  }
}

// Holds a lock, and takes it again whenever it is lost.
void hold_a_lock(std::string const& url, board& seen) {
  lock const beside(open_here(url), "beside-the-fleet");
  acquire_options const with{.ttl = ttl, .wait = wait_forever};
  acquired held = beside.acquire(with);
  for (seen.is_held = true; !seen.stop; std::this_thread::sleep_for(milliseconds(5))) {
    if (held && held->valid()) continue;
    ++seen.lost;
    try {
      held = beside.acquire(with);
    } catch (error const&) {
    }
  }
}

// PING each millisecond, over one connection.
void ask_for_answers(std::uint16_t port, board& seen) {
  namespace asio = boost::asio;
  asio::io_context io;
  asio::ip::tcp::socket socket(io);
  socket.connect({asio::ip::address_v4::loopback(), port});
  for (seen.is_asked = true; !seen.stop; std::this_thread::sleep_for(milliseconds(1))) {
    auto const began = steady_ns();
    std::string answer;
    asio::write(socket, asio::buffer(std::string("PING\r\n")));
    asio::read_until(socket, asio::dynamic_buffer(answer), "\r\n");
    seen.pings.note(steady_ns() - began);
  }
}

// A server, and a fleet that loses its connections to it.
class part {
 public:
  part(stage& on, terms const& how, bool reports) : on_(on), how_(how), reports_(reports) {}

  /// Returns how many leases were lost.
  std::uint64_t play() {
    start_members();
    // What came at once when they began is over.
    on_.pass(2 * round);
    watch("before the cut", [] {});
    on_.processes().start("the process that holds the lock",
                          [&] { hold_a_lock(server_.url(), *seen_); });
    on_.processes().start("the process that asks PING",
                          [&] { ask_for_answers(server_.port(), *seen_); });
    on_.await("the lock is not held", [&] { return seen_->is_held && seen_->is_asked; });
    watch("behind it", [&] { server_.cli("CLIENT KILL USER member"); });
    seen_->stop = true;
    on_.await_end();
    on_.clear();
    latency_sum pings;
    pings.add(seen_->pings);
    on_.out().figure(name_ + ": leases lost", seen_->lost.load());
    on_.out().times(name_ + ": PING", pings);
    return seen_->lost;
  }

 private:
  void start_members() {
    on_.tell(name_ + ": the members start");
    auto const url = fmt::format("redis://member:sesame@127.0.0.1:{}", server_.port());
    on_.processes().start_all(
        how_.processes, "process of members",
        [this, url](std::size_t number) { be_members(how_, reports_, url, number, *seen_); });
    on_.await(
        "the members do not start", [&] { return seen_->ready == how_.processes; }, seconds(180));
    // A server that cannot keep up never lets them know all others.
    auto const known_to_all = [&, &known = seen_->known] {
      return std::min_element(known.begin(), known.begin() + how_.processes)->load();
    };
    auto const all_know_all = [&] { return !reports_ || known_to_all() == how_.members; };
    if (on_.waited_for(all_know_all, seconds(60))) return;
    on_.out().line(
        fmt::format("after a minute there is one who knows {} of them only", known_to_all()));
  }

  // Of its whole life.
  double of_server(char const* section, std::string const& field) const {
    auto const info = server_.command({"INFO", section});
    auto const at = info.find("\n" + field + ":");
    return at == std::string::npos ? 0 : std::stod(info.substr(at + field.size() + 2));
  }

  // What it costs in the time from what happens at its begin.
  template <class Happens>
  void watch(char const* when, Happens happens) {
    auto const sent_mb = [&] { return of_server("stats", "total_net_output_bytes") / 1e6; };
    auto const used_s = [&] {
      return of_server("cpu", "used_cpu_sys") + of_server("cpu", "used_cpu_user");
    };
    auto const reported = [&all = seen_->reported] {
      return std::accumulate(all.begin(), all.end(), std::uint64_t{0});
    };
    auto const words = fmt::format("{}, {}: ", name_, when);
    auto const time_s = in_seconds(in_ns(how_.time));
    auto const sent_before = sent_mb(), used_before = used_s();
    auto const reported_before = reported();
    happens();
    on_.tell(words + "they are watched");
    on_.pass(how_.time);
    on_.tell_nothing();
    on_.out().figure(words + "sent", (sent_mb() - sent_before) / time_s, "MB/s");
    on_.out().figure(words + "of a processor", (used_s() - used_before) / time_s * 100, "%");
    on_.out().figure(words + "reports", reported() - reported_before);
  }

  stage& on_;
  terms const& how_;
  bool const reports_;
  std::string const name_ = reports_ ? "with reports" : "control";
  redis_server server_ = own_server<redis_server>(
      herdlock_test::redis_options{.users = {"member on >sesame ~* &* +@all"}});
  shared<board> seen_;
};

class played : public scene {
 public:
  void declare(options& all) override {
    all.number("--members", how_.members, {1, 100'000}, "Store handles with a cache each");
    all.number("--processes", how_.processes, {1, most_processes}, "They are in so many");
    all.number("--keys", how_.keys, {1, 64}, "Keys that each member reads, and reports");
    all.number("--key-bytes", how_.key_bytes, {1, 1000}, "Of each key");
    all.time("--time", how_.time, {milliseconds(100), std::chrono::hours(24)},
             "How long it is watched, before the cut and behind it");
    all.number("--judge", how_.judge, {0, 1}, "0: no promise is judged");
  }

  void check() override {
    if (how_.members >= how_.processes) return;
    throw command_error(exit_code::usage, "--members must not be less than --processes");
  }

  void play(stage& on) override {
    report& out = on.out();
    out.line(
        fmt::format("{} members in {} processes, {} keys of {} bytes in a report, a lock of {}",
                    how_.members, how_.processes, how_.keys, how_.key_bytes, cli::say(ttl)));
    auto const lost_by_control = part(on, how_, false).play();
    auto const lost = part(on, how_, true).play();
    if (lost_by_control != 0) out.line("the control lost a lease: this run does not count");
    if (how_.judge != 0) judge_leases(lost, lost_by_control, on.judged());
    out.data()["counts"] = lost_by_control == 0;
    out.data()["broken"] = on.judged().broken();
  }

 private:
  terms how_;
};

}  // namespace
}  // namespace reconnect

listed_scene const reconnect_scene{"reconnect", "Cut a fleet off; does a lock beside it stay?",
#include "scenes/reconnect_help.txt"
                                   , false, made<reconnect::played>};

}  // namespace herdlock::lab
