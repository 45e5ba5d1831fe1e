// Scene `many`, how many round trips one call makes in a fleet that is quiet: rounds go on until
// one of them makes no more than are promised. Others may have a PING of the connection, a look for
// the cluster's slots, or a batch that the machine tore apart, among their steps.
#include <future>
#include <support/counted_line.hpp>
#include <support/redis_cluster.hpp>

#include "scenes/many.hpp"
#include "stage/own_server.hpp"
#include "stage/place.hpp"

namespace herdlock::lab::many {
namespace {

using namespace std::chrono_literals;
using herdlock_test::counted_line;
using herdlock_test::redis_server;

struct trips_seen {
  std::size_t trips = trips::none;  // at the node that has most of them
  double time = 0;                  // of the call without its loader, in round trips
  std::size_t reads = 0;
  auto operator<=>(trips_seen const&) const = default;
};

// A Redis, or a cluster of three, behind a line for each of its nodes.
class quiet_fleet {
 public:
  quiet_fleet(terms const& how, cache_format format)
      : how_(how),
        // No claim is renewed while the other's steps are counted.
        terms_{.prefix = no_prefix, .ttl = 1h, .claim_ttl = 1min, .format = format} {
    if (how.store == "redis") {
      lines_.push_back({&redis_.emplace()});
    } else {
      cluster_.emplace();
      for (std::size_t i = 0; i < cluster_->size(); ++i) lines_.push_back({&cluster_->node(i)});
    }
    names addresses;
    for (auto& [node, line, trips, reads] : lines_) {
      line = std::make_unique<counted_line>(node->port(), how.latency);
      addresses.push_back(fmt::format("127.0.0.1:{}", line->port()));
      if (cluster_) node->cli(fmt::format("CONFIG SET cluster-announce-port {}", line->port()));
    }
    if (cluster_ && !wait_until(stage::patience, [this] { return are_known(); })) {
      throw std::runtime_error("the nodes do not learn of each other's lines");
    }
    auto const url =
        fmt::format("redis{}://{}", cluster_ ? "+cluster" : "", fmt::join(addresses, ","));
    cached_.emplace(open_here(url), terms_);
  }

  trips all;

  trips_seen call_alone(std::string const& round) {
    auto const keys = keys_of(round, *cached_);
    since_last_look();
    auto const took_ns = static_cast<double>(call(keys, 1));
    auto seen = since_last_look();
    seen.time = took_ns / in_ns(2 * how_.latency);
    return seen;
  }

  /// The missing keys are being loaded by another: the trips until there is nothing to do but to
  /// wait for it.
  std::size_t call_while_another_loads(std::string const& round) {
    redis_server& node = *lines_.front().node;
    cache<std::string> const other(open_here(node.url()), terms_);
    auto const keys = keys_of(round, other);
    names const missing(keys.begin(), keys.begin() + how_.missing);
    std::promise<void> begun;
    std::size_t made = 0;
    auto const load_until_seen = [&](names const& wanted) {
      since_last_look();
      auto const steps = node.calls("evalsha") + 2 * how_.missing;
      begun.set_value();
      // Its claims, and a look at each of the others'.
      wait_until(stage::patience, [&] { return node.calls("evalsha") >= steps; });
      made = since_last_look().trips;
      return values_of(wanted);
    };
    std::jthread loading([&] { other.get_many_or_load(missing, load_until_seen); });
    begun.get_future().wait();
    call(keys, 0);
    loading.join();
    return made;
  }

 private:
  // The first keys are missing, the others are put by that one.
  names keys_of(std::string const& round, cache<std::string> const& by) const {
    names keys;
    for (int i = 0; i < how_.keys; ++i) keys.push_back(fmt::format("{}:{}", round, i));
    put_all(by, names(keys.begin() + how_.missing, keys.end()));
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

  // Each node tells the port of each line.
  bool are_known() const {
    for (auto const& asked : lines_) {
      auto const map = asked.node->cli("CLUSTER SLOTS");
      for (auto const& each : lines_) {
        if (map.find(std::to_string(each.line->port())) == map.npos) return false;
      }
    }
    return true;
  }

  trips_seen since_last_look() {
    trips_seen seen{.trips = 0};
    for (auto& each : lines_) {
      auto const trips = each.line->trips(), reads = each.line->reads();
      seen.trips = std::max(seen.trips, trips - std::exchange(each.trips, trips));
      seen.reads += reads - std::exchange(each.reads, reads);
    }
    return seen;
  }

  struct lined_node {
    redis_server* node;
    std::unique_ptr<counted_line> line{};
    std::size_t trips = 0, reads = 0;  // at the last look
  };

  terms const& how_;
  std::optional<redis_server> redis_;
  std::optional<herdlock_test::redis_cluster> cluster_;
  std::vector<lined_node> lines_;
  cache_options const terms_;
  std::optional<cache<std::string>> cached_;
};

void play_format(stage& on, terms const& how, cache_format format, std::string const& name) {
  auto fleet = own_server<quiet_fleet>(how, format);
  auto const tell = [&](char const* what, auto figure) {
    on.out().figure(fmt::format("{}: {}", name, what), figure);
  };
  // Connections are made, and the server is told the scripts.
  tell("trips of the first call ever", fleet.call_alone("first").trips);
  trips_seen least;
  std::size_t most = 0;
  for (std::uint64_t i = 0; i < how.rounds && least.trips > trips_promised; ++i) {
    on.pass(milliseconds(1));
    auto const seen = fleet.call_alone(std::to_string(i));
    least = std::min(least, seen);
    most = std::max(most, seen.trips);
  }
  fleet.all.least = least.trips;
  tell("trips at a node, least", least.trips);
  tell("in pieces", least.reads);
  tell("all in the time of trips", least.time);
  tell("trips at a node, most", most);
  if (how.store == "redis") {
    fleet.call_while_another_loads("connected for events");
    std::size_t waiting = trips::none;
    for (std::uint64_t i = 0; i < how.rounds && waiting > trips_promised_waiting; ++i) {
      on.pass(milliseconds(1));
      waiting = std::min(waiting, fleet.call_while_another_loads(fmt::format("waits{}", i)));
    }
    fleet.all.least_waiting = waiting;
    tell("trips before another's load, least", waiting);
  }
  judge_trips(fleet.all, on.judged());
}

}  // namespace

void play_trips(stage& on, terms const& how) {
  play_format(on, how, cache_format::plain, "plain entries");
  play_format(on, how, cache_format::framed, "framed entries");
}

}  // namespace herdlock::lab::many
