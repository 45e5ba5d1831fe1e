// Scene `fleet`, in a process of the fleet.
#include <sys/resource.h>
#include <unistd.h>

#include <bitset>
#include <herdlock/cache.hpp>

#include "scenes/fleet.hpp"
#include "stage/place.hpp"

namespace herdlock::lab::fleet {
namespace {

// It makes them report before there are keys. It has no value.
constexpr char const* first_key = "nothing";

/// For the fleet, and for the server, a process of its own.
struct member {
  cache<std::string> values;
  std::array<std::shared_ptr<std::string const>, most_keys> last{};  // answers
  std::bitset<most_keys> kept{};
  bool believed = false;
};

cache_options cache_terms(terms const& how) {
  // Nothing is loaded meanwhile, and no count of a process alone makes a key hot.
  return {.prefix = how.prefix,
          .ttl = std::chrono::hours(2),
          .hot = {.keys = hot_keys_options{.threshold = 1e6, .window = how.window},
                  .fleet_threshold = how.fleet_threshold()}};
}

struct worker {
  terms const& how;
  board& seen;
  std::size_t const number;
  process& own = seen.processes[number];
  std::vector<member> members{};
  std::vector<std::string> names{};
  std::array<std::size_t, most_keys> kept_by{};

  void run(std::string const& url) {
    own.pid = ::getpid();
    // The first ones have a member each; the others are dealt out.
    auto const step = number < apart ? how.members : how.processes - apart;
    for (auto i = number; i < how.members; i += step) {
      members.push_back({cache<std::string>(open_here(url), cache_terms(how))});
    }
    for (std::size_t i = 0; i < how.keys; ++i) names.push_back(fmt::format("{:k>20}", i));
    if (number == 0) {
      for (auto const& name : names) members.front().values.put(name, "a value");
    }
    ++seen.ready;
    read_on();
    if (number == 0) remove();
  }

  // What is left goes by its ttl.
  void remove() const {
    try {
      for (auto const& name : names) members.front().values.invalidate(name);
    } catch (error const&) {  // its trouble showed before
    }
  }

  // Each key at the rate; one after the other, so that the calls are spread.
  void read_on() {
    pace steps(steady_ns(), how.rate * static_cast<double>(how.keys));
    std::int64_t look_ns = 0;
    for (std::size_t turn = 0; !seen.stop; ++turn) {
      steps.go_on();
      // Those that are over 100 ms late are left out: it was stopped, or the machine is busy.
      while (steady_ns() - steps.due() > 100'000'000) steps.go_on();
      steps.await();
      auto const key = turn % how.keys;
      auto const asked = seen.asked.load();
      for (auto& one : members) {
        if (key < asked) read(one, key);
        if (asked == 0 && key == 0 && number < seen.standing) try_to_read(one, first_key);
      }
      if (steady_ns() < look_ns) continue;
      look_ns = steady_ns() + 50'000'000;
      look();
    }
  }

  std::shared_ptr<std::string const> try_to_read(member const& one, std::string const& key) {
    try {
      auto const got = one.values.get_shared(key);
      if (got) return *got;
    } catch (error const&) {  // it was stopped for longer than its store waits
      ++own.failed;
    }
    return nullptr;
  }

  // Two calls in a row that get the same object: it is kept.
  void read(member& one, std::size_t key) {
    if (seen.first_ns[key] == 0) note_first(seen.first_ns[key], steady_ns());
    auto value = try_to_read(one, names[key]);
    bool const is_kept = value && value == one.last[key];
    one.last[key] = std::move(value);
    if (!is_kept) ++own.asked_server;
    if (!is_kept || one.kept[key]) return;
    one.kept[key] = true;
    if (++kept_by[key] == members.size()) own.kept_ns[key] = steady_ns();
  }

  void look() {
    std::int64_t refused = 0;
    for (auto& one : members) {
      auto const stats = one.values.fleet_stats();
      refused += static_cast<std::int64_t>(stats.heard_again);
      if (stats.processes != forged_processes || one.believed) continue;
      one.believed = true;
      ++own.believed;
    }
    own.refused = refused;
  }
};

}  // namespace

void work(terms const& how, board& seen, std::size_t number, std::string const& url) {
  ::setpriority(PRIO_PROCESS, 0, 19);
  worker{how, seen, number}.run(url);
}

}  // namespace herdlock::lab::fleet
