// Is anything that a near cache serves too old? One writer, some readers, and something that
// happens to the server or the connection between them.
//
//   near_soak [--case write|flush|swap|kill|freeze|move|failover] [--events N] [--writes N]
//             [--readers N] [--max-staleness MS] [--excess MS] [--pause MS] [--freeze MS]
//             [--fence-every N]
//
//   write     nothing but the writes
//   flush     FLUSHALL
//   swap      SWAPDB with a database that has the next value; the server tells nobody, so each
//             reader calls drop_kept() once it is done
//   kill      every connection of a client is killed
//   freeze    the readers' connection stands still, for two and a half times max_staleness if
//             --freeze does not say how long; from when each reader keeps the last value
//   move      the key's slot goes to another node of a cluster
//   failover  another server becomes the master, by Sentinel, and all clients have gone there
//
// Each event comes after --writes writes, with --pause (2 ms) after each. Readers read as fast as
// they can; all but the first do so every tenth time (--fence-every; 0: never) behind a fence. Ends
// with 1 when a value behind a fence was older than a write that was acknowledged before the fence;
// when any was older than max_staleness and --excess; or when fewer than four reads of five between
// the events were near hits, for then it shows nothing (without a pause there are few).
//
// bench/peers/near_beside.py plays the same with other clients.
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <herdlock/cache.hpp>
#include <herdlock/open.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <support/eventually.hpp>
#include <support/redis_cluster.hpp>
#include <support/redis_sentinels.hpp>
#include <support/redis_server.hpp>
#include <support/relay.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "near_history.hpp"
#include "verdict.hpp"

namespace {

using namespace std::chrono_literals;
using namespace herdlock;
using namespace herdlock_test;
using texts = cache<std::string>;

struct soak_options {
  std::string what = "write";
  std::uint64_t events = 20;
  std::uint64_t writes = 50;
  int readers = 2;
  milliseconds max_staleness{1000};
  milliseconds excess{50};
  milliseconds pause{2};
  milliseconds freeze{0};  // 0: as long as max_staleness makes it
  std::uint64_t fence_every = 10;
  near_cache near = near_cache::all;
};

constexpr auto key = "k";

/// What the event itself makes of the value.
enum class replacement { none, nothing, next };

/// Where it happens: what readers and the writer open, and the event.
struct place {
  std::string url_of_readers;
  std::string url_of_writer;
  std::function<void()> event;
  replacement by_event = replacement::none;
  /// Before the event, with the value that will be there after it.
  std::function<void(std::string const& next)> prepare = [](std::string const&) {};
  /// Whether it comes once each reader keeps the last value: else it may show nothing.
  bool once_kept = false;
  /// Waits until the last event is over.
  std::function<void()> settle = [] {};
};

class race {
 public:
  race(soak_options const& options, place where)
      : options_(options),
        where_(std::move(where)),
        history_((options.writes + 1) * (options.events + 1)),
        kept_(static_cast<std::size_t>(options.readers)) {}

  void run() {
    std::vector<std::jthread> readers;  // told to stop in the end, and by what is thrown
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      readers.emplace_back([this, i](std::stop_token const& stop) { read(i, stop); });
    }
    texts const writer(open_store(where_.url_of_writer),
                       {.prefix = no_prefix, .ttl = 1h, .ttl_jitter = 0});
    for (std::uint64_t i = 0; i <= options_.events; ++i) {
      for (std::uint64_t n = 0; n < options_.writes; ++n) write(writer);
      if (i == options_.events) break;
      where_.prepare(std::to_string(history_.next()));
      if (where_.once_kept && options_.near != near_cache::off) await_kept();
      if (where_.by_event == replacement::nothing) history_.nothing_follows();
      where_.event();
      if (where_.by_event == replacement::next) ++swaps_;
      if (where_.by_event != replacement::none) {
        history_.acknowledge(where_.by_event == replacement::nothing);
      }
    }
    where_.settle();
  }

  near_figures const& figures() const { return figures_; }

 private:
  void write(texts const& writer) {
    auto const value = std::to_string(history_.next());
    eventually([&] {
      try {
        writer.put(key, value);
        return true;
      } catch (error const&) {
        return false;  // unknown, and the same again
      }
    });
    history_.acknowledge(false);
    // So that readers find it unchanged for a while.
    ::poll(nullptr, 0, static_cast<int>(options_.pause.count()));
  }

  /// Until each reader was answered with the last value by what it keeps.
  void await_kept() {
    auto const last = history_.acknowledged();
    watched_ = true;
    bool const kept = eventually([&] {
      return std::all_of(kept_.begin(), kept_.end(), [&](auto const& one) { return one == last; });
    });
    watched_ = false;
    if (!kept) throw std::runtime_error("a reader does not keep the last value");
  }

  void read(std::size_t reader_number, std::stop_token const& stop) {
    texts const reader(open_store(where_.url_of_readers),
                       {.prefix = no_prefix,
                        .ttl = 1h,
                        .near = options_.near,
                        .max_staleness = options_.max_staleness});
    bool const fences = reader_number > 0 && options_.fence_every > 0;
    std::uint64_t swaps = 0;
    for (std::uint64_t i = 0; !stop.stop_requested(); ++i) {
      try {
        bool const watched = watched_;
        auto const hits = watched ? reader.stats().near_hits : 0;
        auto const seen = read_once(reader, swaps, fences && i % options_.fence_every == 0);
        if (watched && seen && reader.stats().near_hits > hits) kept_[reader_number] = *seen;
      } catch (error const&) {
        ++figures_.errors;
      }
    }
    figures_.hits += reader.stats().near_hits;
  }

  std::optional<std::uint64_t> read_once(texts const& reader, std::uint64_t& swaps,
                                         bool behind_fence) {
    auto const before = history_.acknowledged();
    std::uint64_t const done = swaps_;
    if (std::exchange(swaps, done) != done) reader.drop_kept();
    if (behind_fence) reader.fence();
    auto const acknowledged = behind_fence ? before : history_.acknowledged();
    auto const asked = std::chrono::steady_clock::now();
    auto const seen = reader.get(key);
    std::optional<std::uint64_t> number;
    if (seen) number = std::stoull(*seen);
    figures_.note(history_.age(number, acknowledged, asked), behind_fence);
    ++figures_.of_hits;
    return number;
  }

  soak_options const& options_;
  place where_;
  near_history history_;
  near_figures figures_;
  std::vector<std::atomic<std::uint64_t>> kept_;  // by reader, while watched
  std::atomic<bool> watched_{false};
  std::atomic<std::uint64_t> swaps_{0};
};

bool play(soak_options const& options, place where) {
  race one(options, std::move(where));
  one.run();
  auto const& seen = one.figures();
  seen.print(options.what.c_str(), options.events, options.what == "write" ? "pauses" : "events");
  verdict how;
  how.demand(seen.stale_behind_fence == 0, "nothing is too old behind a fence");
  how.demand(milliseconds(seen.oldest_ns / 1'000'000) <= options.max_staleness + options.excess,
             "nothing is older than max_staleness");
  bool const most = 5 * seen.hits >= 4 * seen.of_hits;
  how.demand(most || options.pause.count() == 0, "most answers were near hits");
  return how.good;
}

bool soak_one_server(soak_options const& options) {
  redis_server server;
  relay wire(server.port());
  auto const at = [](std::uint16_t port) {
    return "redis://127.0.0.1:" + std::to_string(port) + "?timeout=10s";
  };
  // The relay costs time and processor: only where something is to happen to it.
  bool const freezes = options.what == "freeze";
  place where{at(freezes ? wire.port() : server.port()), at(server.port()), [] {}};
  if (options.what == "flush") {
    where.by_event = replacement::nothing;
    where.event = [&] { server.cli("FLUSHALL"); };
  } else if (options.what == "swap") {
    where.by_event = replacement::next;
    where.once_kept = true;
    where.prepare = [&](std::string const& next) {
      std::string const set = "redis.call('SELECT', 1) return redis.call('SET', KEYS[1], ARGV[1])";
      server.command({"EVAL", set, "1", key, next});
    };
    where.event = [&] { server.command({"SWAPDB", "0", "1"}); };
  } else if (options.what == "kill") {
    where.event = [&] { server.cli("CLIENT KILL TYPE normal"); };
  } else if (freezes) {
    where.once_kept = true;
    auto const span = options.freeze.count() > 0 ? options.freeze : options.max_staleness * 5 / 2;
    auto const frozen = std::make_shared<std::optional<std::jthread>>();
    where.settle = [frozen] { frozen->reset(); };
    where.event = [&wire, frozen, span] {
      frozen->reset();
      wire.stop_forwarding();
      frozen->emplace([&wire, span] {
        ::poll(nullptr, 0, static_cast<int>(span.count()));
        wire.resume_forwarding();
      });
    };
  }
  return play(options, std::move(where));
}

bool soak_cluster(soak_options const& options) {
  redis_cluster group;
  auto const url = group.url() + "?timeout=10s";
  auto const slot = group.slot_of(key);
  return play(options, {url, url, [&] { group.move_slot(slot, (group.home_of(key) + 1) % 3); }});
}

bool soak_sentinels(soak_options const& options) {
  redis_sentinels group({.down_after = never_down});
  auto const url = group.url() + "?timeout=10s";
  // A master that has lost its place answers until Sentinel has told everybody, and what is written
  // there is lost: that is for any client to see, with a near cache or without.
  auto const fail_over = [&] {
    group.await_replicas(2);
    auto& old = group.master();
    group.failover();
    auto const left = [&] {
      return old.cli("CLIENT LIST").find("name=herdlock") == std::string::npos;
    };
    if (!eventually(left)) throw std::runtime_error("clients stay at the old master");
  };
  return play(options, {url, url, fail_over});
}

bool is_known(std::string_view what) {
  for (auto const* one : {"write", "flush", "swap", "kill", "freeze", "move", "failover"}) {
    if (what == one) return true;
  }
  return false;
}

bool read_options(int argc, char** argv, soak_options& options) {
  for (int i = 1; i < argc; i += 2) {
    std::string_view const name = argv[i];
    if (i + 1 == argc) return false;
    auto const number = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--case") {
      options.what = argv[i + 1];
    } else if (name == "--events") {
      options.events = number;
    } else if (name == "--writes") {
      options.writes = number;
    } else if (name == "--readers") {
      options.readers = static_cast<int>(number);
    } else if (name == "--max-staleness") {
      options.max_staleness = milliseconds(number);
    } else if (name == "--near") {
      options.near = std::string_view(argv[i + 1]) == "off" ? near_cache::off : near_cache::all;
    } else if (name == "--excess") {
      options.excess = milliseconds(number);
    } else if (name == "--pause") {
      options.pause = milliseconds(number);
    } else if (name == "--freeze") {
      options.freeze = milliseconds(number);
    } else if (name == "--fence-every") {
      options.fence_every = number;
    } else {
      return false;
    }
  }
  return is_known(options.what) && options.writes > 0 && options.readers > 1;
}

}  // namespace

int main(int argc, char** argv) {
  soak_options options;
  if (!read_options(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: near_soak [--case write|flush|swap|kill|freeze|move|failover]\n"
                 "                 [--events N] [--writes N] [--readers N] [--max-staleness MS]\n"
                 "                 [--excess MS] [--pause MS] [--freeze MS] [--fence-every N]\n");
    return 2;
  }
  try {
    if (options.what == "move") return soak_cluster(options) ? 0 : 1;
    if (options.what == "failover") return soak_sentinels(options) ? 0 : 1;
    return soak_one_server(options) ? 0 : 1;
  } catch (std::exception const& why) {
    std::fprintf(stderr, "near_soak: %s\n", why.what());
    return 1;
  }
}
