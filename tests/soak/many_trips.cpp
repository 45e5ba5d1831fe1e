// How many round trips one call of get_many_or_load makes in a fleet that is quiet: rounds go on
// until one of them makes no more than are promised. Others may have a PING of the connection, a
// look for the cluster's slots, or a batch that the machine tore apart, among their steps.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <support/eventually.hpp>
#include <thread>
#include <vector>

#include "counted_line.hpp"
#include "many_soak.hpp"

namespace herdlock_test {
namespace {

using namespace herdlock;
using namespace std::chrono_literals;

constexpr std::size_t call_takes = 3, waiting_takes = 4;

// The store behind a line for each of its nodes.
class lined_store {
 public:
  lined_store(std::string const& kind, milliseconds latency) : behind_(kind) {
    if (behind_.redis) {
      add_line(*behind_.redis, latency);
      url_ = "redis://127.0.0.1:" + std::to_string(lines_[0]->port());
      return;
    }
    auto& cluster = *behind_.cluster;
    for (std::size_t i = 0; i < cluster.size(); ++i) {
      add_line(cluster.node(i), latency);
      auto const port = std::to_string(lines_[i]->port());
      cluster.node(i).cli("CONFIG SET cluster-announce-port " + port);
      url_ += (i == 0 ? "redis+cluster://127.0.0.1:" : ",127.0.0.1:") + port;
    }
    if (!eventually([&] { return all_lines_are_known(); })) {
      throw std::runtime_error("the nodes do not learn of each other's lines");
    }
  }

  std::string const& url() const { return url_; }
  redis_server& single() { return *behind_.redis; }
  std::string direct_url() const { return behind_.url(); }

  std::vector<std::size_t> trips() const {
    std::vector<std::size_t> all;
    for (auto const& line : lines_) all.push_back(line->trips());
    return all;
  }
  std::size_t reads() const {
    std::size_t sum = 0;
    for (auto const& line : lines_) sum += line->reads();
    return sum;
  }

 private:
  void add_line(redis_server const& node, milliseconds latency) {
    lines_.push_back(std::make_unique<counted_line>(node.port(), latency));
  }
  bool all_lines_are_known() {
    auto& cluster = *behind_.cluster;
    for (std::size_t i = 0; i < cluster.size(); ++i) {
      auto const map = cluster.node(i).cli("CLUSTER SLOTS");
      auto const is_named = [&](auto const& line) {
        return map.find(std::to_string(line->port())) != map.npos;
      };
      if (!std::all_of(lines_.begin(), lines_.end(), is_named)) return false;
    }
    return true;
  }

  many_store behind_;
  std::vector<std::unique_ptr<counted_line>> lines_;
  std::string url_;
};

names keys_of(many_options const& options, std::string const& round) {
  names keys;
  for (int i = 0; i < options.keys; ++i) keys.push_back(round + ":" + std::to_string(i));
  return keys;
}

struct call_seen {
  std::size_t trips = 0;  // at the node that has most of them
  std::size_t reads = 0;
  double time = 0;  // without the loader's, in round trips
};

class quiet_fleet {
 public:
  quiet_fleet(many_options const& options, cache_format format)
      : options_(options), store_(options.store, options.latency) {
    terms_.prefix = no_prefix;
    terms_.ttl = 1h;
    terms_.claim_ttl = 1min;  // so that no claim is renewed while the other's steps are counted
    terms_.format = format;
    cached_.emplace(open_store(store_.url()), terms_);
  }

  /// The first keys are missing, the others are put before.
  call_seen call_alone(std::string const& round) {
    auto const keys = keys_of(options_, round);
    put_all(*cached_, names(keys.begin() + options_.missing, keys.end()));
    auto const trips = store_.trips();
    auto const reads = store_.reads();
    int loads = 0;
    milliseconds const taken = call(keys, [&](names const& wanted) {
      ++loads;
      return values_of(wanted);
    });
    if (loads != 1) throw std::runtime_error("one call of the loader was expected");
    return {.trips = most_of(trips), .reads = store_.reads() - reads, .time = in_trips(taken)};
  }

  /// The missing keys are being loaded by another: the trips until there is nothing to do but to
  /// wait for it.
  std::size_t call_while_another_loads(std::string const& round) {
    auto const keys = keys_of(options_, round);
    auto const missing = names(keys.begin(), keys.begin() + options_.missing);
    cache<std::string> const other(open_store(store_.direct_url()), terms_);
    put_all(other, names(keys.begin() + options_.missing, keys.end()));
    std::promise<void> begun, watched;
    std::jthread loading([&] {
      other.get_many_or_load(missing, [&](names const& wanted) {
        begun.set_value();
        watched.get_future().wait();
        return values_of(wanted);
      });
    });
    begun.get_future().wait();
    auto const before = store_.trips();
    auto const steps = store_.single().calls("evalsha") + 2 * options_.missing;
    std::size_t trips = 0;
    std::jthread seeing([&] {
      // Its claims, and a look at each of the others'.
      eventually([&] { return store_.single().calls("evalsha") >= steps; });
      trips = most_of(before);
      watched.set_value();
    });
    int loads = 0;
    call(keys, [&](names const& wanted) {
      ++loads;
      return values_of(wanted);
    });
    seeing.join();
    loading.join();
    if (loads != 0) throw std::runtime_error("no call of the loader was expected");
    return trips;
  }

 private:
  template <class Loader>
  milliseconds call(names const& keys, Loader const& load) {
    auto const began = std::chrono::steady_clock::now();
    auto const got = cached_->get_many_or_load(keys, load);
    auto const ended = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (got[i].value() != value_of(keys[i])) throw std::runtime_error("a wrong value");
    }
    return std::chrono::duration_cast<milliseconds>(ended - began);
  }
  double in_trips(milliseconds taken) const {
    return double(taken.count()) / double(2 * options_.latency.count());
  }
  std::size_t most_of(std::vector<std::size_t> const& before) const {
    auto const now = store_.trips();
    std::size_t most = 0;
    for (std::size_t i = 0; i < now.size(); ++i) most = std::max(most, now[i] - before[i]);
    return most;
  }

  many_options options_;
  lined_store store_;
  cache_options terms_;
  std::optional<cache<std::string>> cached_;
};

void judge_format(many_options const& options, cache_format format, verdict& how) {
  quiet_fleet fleet(options, format);
  auto const* const name = format == cache_format::plain ? "plain" : "framed";
  // Connections are made, and the server is told the scripts.
  std::printf("%s entries: the first call ever %zu trips\n", name, fleet.call_alone("first").trips);
  call_seen least{.trips = std::size_t(-1), .reads = 0, .time = 0}, most;
  for (std::uint64_t round = 0; round < options.rounds && least.trips > call_takes; ++round) {
    auto const seen = fleet.call_alone(std::to_string(round));
    if (seen.trips < least.trips || (seen.trips == least.trips && seen.time < least.time)) {
      least = seen;
    }
    if (seen.trips >= most.trips) most = seen;
  }
  std::printf(
      "%s entries: trips at a node, least %zu (in %zu pieces, all in the time of %.2f trips), "
      "most %zu\n",
      name, least.trips, least.reads, least.time, most.trips);
  how.demand(least.trips <= call_takes,
             "read, claim, load, fill: three round trips and a loader call");
  if (options.store != "redis") return;
  std::size_t waiting = std::size_t(-1);
  fleet.call_while_another_loads("connected for events");
  for (std::uint64_t round = 0; round < options.rounds && waiting > waiting_takes; ++round) {
    waiting = std::min(waiting, fleet.call_while_another_loads("waits" + std::to_string(round)));
  }
  std::printf("%s entries: trips before there is only another's load to wait for, least %zu\n",
              name, waiting);
  how.demand(waiting <= waiting_takes,
             "read, claim, subscribe, look: four round trips behind another's load");
}

}  // namespace

void judge_trips(many_options const& options, verdict& how) {
  judge_format(options, cache_format::plain, how);
  judge_format(options, cache_format::framed, how);
}

}  // namespace herdlock_test
