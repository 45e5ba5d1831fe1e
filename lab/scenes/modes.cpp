#include "scenes/modes.hpp"

#include <algorithm>
#include <array>

namespace herdlock::cli {
namespace {

constexpr std::array facts{
    mode_facts{guard_mode::naive, "naive", "get; on a miss query and set: what most code does"},
    mode_facts{guard_mode::process, "process",
               "a mutex per key in each process, then a second look"},
    mode_facts{guard_mode::fleet, "fleet", "herdlock: one load for all, everyone gets its answer"},
    mode_facts{guard_mode::early, "early", "refreshed before it expires: XFetch elects, one claims",
               true},
    mode_facts{guard_mode::logical, "logical", "stale ones are answered, one loads behind them",
               true},
    mode_facts{guard_mode::double_lock, "double-lock",
               "get, lock in another store, get again, load, set"},
    mode_facts{guard_mode::hash, "hash", "as fleet; others read the entry field by field"},
    mode_facts{guard_mode::near, "near", "as fleet; each process keeps the product (Redis only)",
               false, true},
};

}  // namespace

std::span<mode_facts const> all_modes() { return facts; }

mode_facts const& facts_of(guard_mode mode) {
  return *std::find_if(facts.begin(), facts.end(),
                       [mode](mode_facts const& each) { return each.mode == mode; });
}

char const* name_of(guard_mode mode) { return facts_of(mode).name; }

std::optional<guard_mode> parse_mode(std::string_view text) {
  for (mode_facts const& each : facts) {
    if (text == each.name) return each.mode;
  }
  return std::nullopt;
}

milliseconds head_start(guard_mode mode, milliseconds load_time) {
  // A refresh that begins with the requests is to end before the entry does.
  constexpr milliseconds slow_machine{100};
  if (mode != guard_mode::early) return milliseconds{0};
  return load_time + std::max(load_time, slow_machine);
}

}  // namespace herdlock::cli
