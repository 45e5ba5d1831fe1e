// Scene `many`, how many round trips one call makes in a fleet that is quiet: rounds go on until
// one of them makes no more than are promised. Others may have a PING of the connection, a look for
// the cluster's slots, or a batch that the machine tore apart, among their steps.
#include <algorithm>
#include <support/counted_line.hpp>
#include <thread>

#include "scenes/many.hpp"
#include "stage/place.hpp"

namespace herdlock::lab::many {
namespace {

using herdlock_test::counted_line;

// The server behind a line for each of its nodes.
class lined_server {
 public:
  lined_server(std::string const& kind, milliseconds latency) : behind(own_server<server>(kind)) {
    std::vector<std::string> addresses;
    for (std::size_t i = 0; i < behind.nodes(); ++i) {
      lines.push_back(std::make_unique<counted_line>(behind.node(i).port(), latency));
      ports_.push_back(std::to_string(lines[i]->port()));
      addresses.push_back("127.0.0.1:" + ports_[i]);
      if (behind.is_cluster()) behind.node(i).cli("CONFIG SET cluster-announce-port " + ports_[i]);
    }
    url = fmt::format("redis{}://{}", behind.is_cluster() ? "+cluster" : "",
                      fmt::join(addresses, ","));
    if (!behind.is_cluster() || wait_until(stage::patience, [&] { return is_known(); })) return;
    throw command_error(exit_code::unavailable, "the nodes do not learn of each other's lines");
  }

  server behind;
  std::vector<std::unique_ptr<counted_line>> lines;
  std::string url;

 private:
  // Each node tells the port of each line.
  bool is_known() {
    for (std::size_t i = 0; i < behind.nodes(); ++i) {
      auto const map = behind.node(i).cli("CLUSTER SLOTS");
      for (auto const& port : ports_) {
        if (map.find(port) == map.npos) return false;
      }
    }
    return true;
  }

  std::vector<std::string> ports_;
};

struct call_seen {
  std::size_t trips = 0;  // at the node that has most of them
  std::size_t reads = 0;
  double time = 0;  // without the loader's, in round trips
};

class quiet_fleet {
 public:
  quiet_fleet(terms const& how, cache_format format) : how_(how), at_(how.store, how.latency) {
    terms_.prefix = no_prefix;
    terms_.ttl = std::chrono::hours(1);
    // No claim is renewed while the other's steps are counted.
    terms_.claim_ttl = std::chrono::minutes(1);
    terms_.format = format;
    cached_.emplace(open_here(at_.url), terms_);
  }

  trips all;

  /// The first keys are missing, the others are put before.
  call_seen call_alone(std::string const& round) {
    auto const keys = keys_of(round);
    put_all(*cached_, names(keys.begin() + how_.missing, keys.end()));
    auto const before = trips_now();
    auto const reads = reads_now();
    auto const took_ns = call(keys, 1);
    return {.trips = most_since(before),
            .reads = reads_now() - reads,
            .time = static_cast<double>(took_ns) / static_cast<double>(in_ns(2 * how_.latency))};
  }

  /// The missing keys are being loaded by another: the trips until there is nothing to do but to
  /// wait for it.
  std::size_t call_while_another_loads(std::string const& round) {
    auto const keys = keys_of(round);
    cache<std::string> const other(open_here(at_.behind.url()), terms_);
    put_all(other, names(keys.begin() + how_.missing, keys.end()));
    std::promise<void> begun, watched;
    std::jthread loading([&] {
      other.get_many_or_load(names(keys.begin(), keys.begin() + how_.missing),
                             [&](names const& wanted) {
                               begun.set_value();
                               watched.get_future().wait();
                               return values_of(wanted);
                             });
    });
    begun.get_future().wait();
    auto const before = trips_now();
    auto& node = at_.behind.node(0);
    auto const steps = node.calls("evalsha") + 2 * how_.missing;
    std::size_t made = 0;
    std::jthread seeing([&] {
      // Its claims, and a look at each of the others'.
      wait_until(stage::patience, [&] { return node.calls("evalsha") >= steps; });
      made = most_since(before);
      watched.set_value();
    });
    call(keys, 0);
    seeing.join();
    return made;
  }

 private:
  names keys_of(std::string const& round) const {
    names keys;
    for (int i = 0; i < how_.keys; ++i) keys.push_back(fmt::format("{}:{}", round, i));
    return keys;
  }

  std::int64_t call(names const& keys, int loads_expected) {
    int loads = 0;
    auto const began = steady_ns();
    auto const got = cached_->get_many_or_load(keys, [&](names const& wanted) {
      ++loads;
      return values_of(wanted);
    });
    auto const took = steady_ns() - began;
    all.other_loads += loads != loads_expected;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      all.wrong += got[i].has_error() || got[i].value() != value_of(keys[i]);
    }
    return took;
  }

  std::vector<std::size_t> trips_now() const {
    std::vector<std::size_t> made;
    for (auto const& line : at_.lines) made.push_back(line->trips());
    return made;
  }
  std::size_t most_since(std::vector<std::size_t> const& before) const {
    auto made = trips_now();
    for (std::size_t i = 0; i < made.size(); ++i) made[i] -= before[i];
    return *std::max_element(made.begin(), made.end());
  }
  std::size_t reads_now() const {
    std::size_t sum = 0;
    for (auto const& line : at_.lines) sum += line->reads();
    return sum;
  }

  terms const& how_;
  lined_server at_;
  cache_options terms_;
  std::optional<cache<std::string>> cached_;
};

void play_format(stage& on, terms const& how, cache_format format, std::string const& name) {
  report& out = on.out();
  quiet_fleet fleet(how, format);
  trips& all = fleet.all;
  // Connections are made, and the server is told the scripts.
  out.figure(name + ": trips of the first call ever", fleet.call_alone("first").trips);
  call_seen least{.trips = trips::none}, most;
  for (std::uint64_t i = 0; i < how.rounds && least.trips > trips_promised; ++i) {
    on.pass(milliseconds(1));
    auto const seen = fleet.call_alone(std::to_string(i));
    if (std::pair(seen.trips, seen.time) < std::pair(least.trips, least.time)) least = seen;
    if (seen.trips >= most.trips) most = seen;
  }
  all.least = least.trips;
  out.figure(name + ": trips at a node, least", least.trips);
  out.figure(name + ": in pieces", least.reads);
  out.figure(name + ": all in the time of trips", least.time);
  out.figure(name + ": trips at a node, most", most.trips);
  if (how.store == "redis") {
    fleet.call_while_another_loads("connected for events");
    std::size_t waiting = trips::none;
    for (std::uint64_t i = 0; i < how.rounds && waiting > trips_promised_waiting; ++i) {
      on.pass(milliseconds(1));
      waiting = std::min(waiting, fleet.call_while_another_loads(fmt::format("waits{}", i)));
    }
    all.least_waiting = waiting;
    out.figure(name + ": trips before another's load, least", waiting);
  }
  judge_trips(all, on.judged());
}

}  // namespace

void play_trips(stage& on, terms const& how) {
  play_format(on, how, cache_format::plain, "plain entries");
  play_format(on, how, cache_format::framed, "framed entries");
}

}  // namespace herdlock::lab::many
