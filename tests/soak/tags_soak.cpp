// One tag of many entries: what its end costs, and that nobody serves one of them after it: see
// `tags_soak --help`.
#include <cstdio>
#include <exception>
#include <herdlock/herdlock.hpp>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <support/redis_server.hpp>
#include <vector>

#include "number_argument.hpp"
#include "verdict.hpp"

namespace {

using namespace herdlock;
using namespace herdlock_test;
using namespace std::chrono_literals;

using texts = cache<std::string>;
using names = std::vector<std::string>;

constexpr char const* help = R"(tags_soak [--entries N] [--rounds N]

Two caches over one Redis server; one of them keeps all entries in its process (near = all), which
all have one tag. In each round every entry is loaded and then read by both until the first keeps
it, the other one invalidates the tag, both call fence(), and each entry is asked for again.

Ends with 1 when an answer behind the fence is from before it, when the end of the tag was more than
one command or a number of steps in the server that depends on the entries, when the server has any
key for the tag but its record and the counter of that, or when fewer than nine in ten entries were
kept before (so that this shows something).
)";

cache_options tagged(near_cache how, std::size_t entries) {
  cache_options options{.prefix = "s:", .ttl = 1h};
  options.format = cache_format::framed;
  options.tags = [](std::string_view) { return names{"t"}; };
  options.tag_max_age = 1h;  // so only the fence, and pushes, tell
  options.near = how;
  options.near_entries = entries + 1000;
  options.near_bytes = std::size_t{1} << 30;
  options.hot_keys = std::nullopt;
  return options;
}

names part_of(names const& keys, std::size_t from) {
  constexpr std::size_t most = 1000;
  auto const begin = keys.begin() + static_cast<std::ptrdiff_t>(from);
  auto const count = std::min(most, keys.size() - from);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

// How many answers are `value`; what is missing is loaded as that.
std::size_t read_all(texts const& from, names const& keys, std::string const& value) {
  std::size_t same = 0;
  auto const load = [&](names const& missing) {
    std::map<std::string, std::string> loaded;
    for (auto const& key : missing) loaded[key] = value;
    return loaded;
  };
  for (std::size_t at = 0; at < keys.size(); at += 1000) {
    for (auto const& got : from.get_many_or_load(part_of(keys, at), load)) {
      if (got.has_value() && *got == value) ++same;
    }
  }
  return same;
}

void read_each(texts const& from, names const& keys) {
  for (auto const& key : keys) from.get_shared(key);
}

// By name, but what the server and the watch over a connection do by themselves.
std::map<std::string, long> commands(redis_server const& server) {
  std::map<std::string, long> calls;
  std::istringstream lines(server.cli("INFO commandstats"));
  std::string const begins = "cmdstat_", counts = ":calls=";
  for (std::string line; std::getline(lines, line);) {
    auto const at = line.find(counts);
    if (line.rfind(begins, 0) != 0 || at == line.npos) continue;
    auto const name = line.substr(begins.size(), at - begins.size());
    bool const is_watch = name == "ping" || name == "info" || name.rfind("config", 0) == 0;
    if (!is_watch) calls[name] = std::stol(line.substr(at + counts.size()));
  }
  return calls;
}

void play(redis_server& server, std::size_t entries, std::uint64_t rounds, verdict& judged) {
  texts const one(open_store(server.url()), tagged(near_cache::all, entries));
  texts const other(open_store(server.url()), tagged(near_cache::off, entries));
  other.invalidate_tag("another");  // so that the server knows the script
  names keys;
  for (std::size_t i = 0; i < entries; ++i) keys.push_back("product:" + std::to_string(i));
  for (std::uint64_t round = 0; round < rounds; ++round) {
    auto const value = std::to_string(round);
    judged.demand(read_all(one, keys, value) == entries, "all were loaded");
    read_each(one, keys);
    auto const hits = one.stats().near_hits;
    read_each(one, keys);
    auto const kept = one.stats().near_hits - hits;
    judged.demand(kept >= entries / 10 * 9, "nine in ten were kept");
    auto const index = std::stol(server.cli("DBSIZE")) - 2 * static_cast<long>(entries);
    judged.demand(index == 2, "the tag has its record, and the counter of that");
    auto const bytes = std::stol(server.cli("MEMORY USAGE s:herdlock:tag:t"));
    judged.demand(bytes < 400, "the record does not grow with its entries");

    server.cli("CONFIG RESETSTAT");
    auto const began = clock::now();
    other.invalidate_tag("t");
    auto const took = std::chrono::duration<double, std::milli>(clock::now() - began).count();
    auto const calls = commands(server);
    auto const of = [&](char const* name) { return calls.count(name) != 0 ? calls.at(name) : 0; };
    auto const steps =
        std::accumulate(calls.begin(), calls.end(), 0L,
                        [](long sum, auto const& each) { return sum + each.second; });
    judged.demand(of("evalsha") + of("eval") == 1 && steps <= 10, "it was one command");

    one.fence();
    other.fence();
    auto const before = one.stats().near_hits;
    read_each(one, keys);
    auto const stale = one.stats().near_hits - before;
    judged.demand(stale == 0, "nothing that was kept was served behind the fence");
    auto const anew = read_all(other, keys, value + " anew");
    judged.demand(anew == entries, "nothing that was stored was served behind the fence");
    std::printf(
        "%zu entries: %llu kept; the end of the tag %.2f ms, %ld scripts, %ld steps in "
        "them; %ld keys and %ld bytes for the tag; behind the fence %llu stale near hits, "
        "%zu stale in the store\n",
        entries, static_cast<unsigned long long>(kept), took, of("evalsha") + of("eval"), steps,
        index, bytes, static_cast<unsigned long long>(stale), entries - anew);
    one.invalidate_tag("t");
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t entries = 100'000, rounds = 1;
  try {
    std::vector<std::string> const arguments(argv + 1, argv + argc);
    for (std::size_t i = 0; i < arguments.size(); i += 2) {
      std::string const text = i + 1 < arguments.size() ? arguments[i + 1] : "";
      if (arguments[i] == "--entries") {
        entries = number_argument(arguments[i], text, 10'000'000);
      } else if (arguments[i] == "--rounds") {
        rounds = number_argument(arguments[i], text, 1'000'000);
      } else {
        std::fputs(help, arguments[i] == "--help" ? stdout : stderr);
        return arguments[i] == "--help" ? 0 : 2;
      }
    }
    redis_server server;
    verdict judged;
    play(server, entries, rounds, judged);
    return judged.good ? 0 : 1;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "tags_soak: %s\n", e.what());
    return 2;
  }
}
