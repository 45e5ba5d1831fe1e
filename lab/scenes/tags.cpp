// `herdlock-lab tags`: what the end of a tag of many entries costs, and that nobody serves one of
// them after it.
#include "scenes/tags.hpp"

#include <herdlock/cache.hpp>
#include <map>
#include <regex>
#include <support/redis_server.hpp>

#include "scenes/scenes.hpp"
#include "stage/own_server.hpp"
#include "stage/place.hpp"
#include "stage/table_of.hpp"

namespace herdlock::lab {
namespace {

using namespace std::chrono_literals;
using herdlock_test::redis_server;
using texts = cache<std::string>;
using names = std::vector<std::string>;

cache_options tagged(near_cache how, std::int64_t entries) {
  cache_options options{
      .prefix = "s:", .ttl = 1h, .format = cache_format::framed, .near = {.mode = how}};
  options.tags.of = [](std::string_view) { return names{"t"}; };
  options.tags.max_age = 1h;  // so only the fence, and pushes, tell
  options.near.entries = static_cast<std::size_t>(entries) + 1000;
  options.near.bytes = std::size_t{1} << 30;
  return options;
}

// How many answers are `value`; what is missing is loaded as that.
std::int64_t read_all(texts const& from, std::vector<names> const& keys, std::string const& value) {
  std::int64_t same = 0;
  auto const load = [&](names const& missing) {
    std::map<std::string, std::string> loaded;
    for (auto const& key : missing) loaded[key] = value;
    return loaded;
  };
  for (auto const& part : keys) {
    throw_if_interrupted();
    for (auto const& got : from.get_many_or_load(part, load)) same += got && *got == value;
  }
  return same;
}

// How many are answered by what the process keeps.
std::int64_t kept_of(texts const& from, std::vector<names> const& keys) {
  auto const before = from.stats().near_hits;
  for (auto const& part : keys) {
    throw_if_interrupted();
    for (auto const& key : part) from.get_shared(key);
  }
  return from.stats().near_hits - before;
}

// What the server has executed, but for what it and the watch over a connection do by themselves.
void count_commands(redis_server const& server, tags_round& into) {
  auto const told = server.cli("INFO commandstats");
  std::regex const line("cmdstat_([^:]+):calls=([0-9]+)");
  for (std::sregex_iterator at(told.begin(), told.end(), line), end; at != end; ++at) {
    std::string const name = (*at)[1];
    if (name == "ping" || name == "info" || name.starts_with("config")) continue;
    auto const calls = std::stol((*at)[2]);
    into.steps += calls;
    if (name == "evalsha" || name == "eval") into.scripts += calls;
  }
}

class tags final : public scene {
 public:
  void declare(options& all) override {
    all.number("--entries", entries_, {1, 10'000'000}, "That have the tag");
    all.number("--rounds", rounds_, {1, 1'000'000}, "How often it ends");
  }

  void play(stage& on) override {
    auto const server = own_server<redis_server>();
    texts const one(open_here(server.url()), tagged(near_cache::all, entries_));
    texts const other(open_here(server.url()), tagged(near_cache::off, entries_));
    other.invalidate_tag("another");  // so that the server knows the script
    // So many are asked for at once.
    std::vector<names> keys;
    for (std::int64_t i = 0; i < entries_; ++i) {
      if (i % 1000 == 0) keys.emplace_back();
      keys.back().push_back("product:" + std::to_string(i));
    }
    for (std::int64_t round = 0; round < rounds_; ++round) {
      throw_if_interrupted();
      on.tell(fmt::format("round {} of {}", round + 1, rounds_), 1.0 * round / rounds_);
      play_round(on, server, one, other, keys, std::to_string(round));
      one.invalidate_tag("t");
    }
    on.out().data()["broken"] = on.judged().broken();
  }

 private:
  void play_round(stage& on, redis_server const& server, texts const& one, texts const& other,
                  std::vector<names> const& keys, std::string const& value) const {
    tags_round seen{.entries = entries_};
    seen.loaded = read_all(one, keys, value);
    kept_of(one, keys);
    seen.kept = kept_of(one, keys);
    seen.keys = std::stol(server.cli("DBSIZE")) - 2 * entries_;
    seen.bytes = std::stol(server.cli("MEMORY USAGE s:herdlock:tag:t"));

    server.cli("CONFIG RESETSTAT");
    auto const began_ns = steady_ns();
    other.invalidate_tag("t");
    auto const took_ms = in_ms(steady_ns() - began_ns);
    count_commands(server, seen);

    one.fence();
    other.fence();
    seen.stale_kept = kept_of(one, keys);
    seen.stale_in_store = entries_ - read_all(other, keys, value + " anew");
    judge_tags(seen, on.judged());
    json const row = {{"entries", seen.entries},
                      {"loaded", seen.loaded},
                      {"kept", seen.kept},
                      {"end_ms", to_micros(took_ms)},
                      {"scripts", seen.scripts},
                      {"steps", seen.steps},
                      {"keys", seen.keys},
                      {"bytes", seen.bytes},
                      {"stale_near_hits", seen.stale_kept},
                      {"stale_in_store", seen.stale_in_store}};
    on.out().line(
        table_of(json::array({row}), {"entries", "kept", "end_ms", "scripts", "steps", "keys",
                                      "bytes", "stale_near_hits", "stale_in_store"}));
    on.out().data()["rounds"].push_back(row);
  }

  std::int64_t entries_ = 100'000;
  std::int64_t rounds_ = 1;
};

}  // namespace

listed_scene const tags_scene{
    "tags", "One tag of many entries ends: what it costs, and that none of them is served after it",
#include "scenes/tags_help.txt"
    , false, made<tags>};

}  // namespace herdlock::lab
