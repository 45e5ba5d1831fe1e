// `herdlock-lab many-caches`: what a program with many caches pays for them.
#include "scenes/many_caches.hpp"

#include <unistd.h>

#include <ctime>
#include <fstream>
#include <herdlock/cache.hpp>

#include "scenes/scenes.hpp"
#include "stage/place.hpp"

namespace herdlock::lab {
namespace {

using namespace std::chrono_literals;

double resident_mb() {
  std::ifstream from("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  from >> all >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

class many_caches final : public scene {
 public:
  void declare(options& all) override {
    all.number("--caches", caches_, {1, 1'000'000}, "How many");
    all.choice("--kind", kind_, {"default", "hot"}, "Whether they name hot_keys");
    all.store(url_, "Instead of a Redis server of its own");
    all.time("--idle", idle_, {1ms, 1h}, "For so long nobody calls them");
    all.flag("--judge", judged_, "Says what is too much; of the kind default");
  }

  void check() override {
    if (!judged_ || kind_ == "default") return;
    throw command_error(exit_code::usage, "--judge knows what caches of --kind default may take");
  }

  void play(stage& on) override {
    place const where(url_, place::without_url::server);
    auto const seen = measure(open_here(where.url()));
    if (judged_) judge_many_caches(seen, on.judged());
    report& out = on.out();
    out.figure("caches", caches_);
    out.figure("kind", kind_);
    out.figure("made", seen.made_s, "s");
    out.figure("made", seen.made_mb, "MB");
    out.figure("called", seen.called_mb, "MB");
    out.figure("idle", seen.idle_percent, "percent");
    out.data()["broken"] = on.judged().broken();
  }

 private:
  many_caches_figures measure(store const& opened) const {
    auto const load = [] { return std::string("loaded"); };
    {  // what a store handle and a first cache take is no matter of the number of caches
      cache<std::string> const first(opened, {.prefix = "first:"});
      first.get_or_load("k", load);
    }
    many_caches_figures seen;
    auto const before_mb = resident_mb();
    auto const began_ns = steady_ns();
    std::vector<cache<std::string>> all;
    all.reserve(static_cast<std::size_t>(caches_));
    for (int i = 0; i < caches_; ++i) {
      throw_if_interrupted();
      cache_options how{.prefix = std::to_string(i) + ":"};
      if (kind_ == "hot") how.hot.keys = hot_keys_options{};
      all.emplace_back(opened, how);
    }
    seen.made_s = in_seconds(steady_ns() - began_ns);
    seen.made_mb = resident_mb() - before_mb;
    for (auto const& one : all) {
      throw_if_interrupted();
      one.get_or_load("k", load);
    }
    seen.called_mb = resident_mb() - before_mb;
    std::this_thread::sleep_for(500ms);  // what the calls have set going is over
    auto const used_s = processor_seconds();
    auto const idle_ns = steady_ns();
    // Not by the stage, which looks at its processes each millisecond.
    while (steady_ns() < idle_ns + in_ns(idle_)) {
      throw_if_interrupted();
      std::this_thread::sleep_for(std::min(idle_, milliseconds(100)));
    }
    seen.idle_percent = (processor_seconds() - used_s) / in_seconds(steady_ns() - idle_ns) * 100;
    return seen;
  }

  int caches_ = 1000;
  std::string kind_ = "default";
  std::string url_;
  milliseconds idle_{10'000};
  bool judged_ = false;
};

}  // namespace

listed_scene const many_caches_scene{
    "many-caches", "What a program pays for a thousand caches: memory, time, and idle work",
#include "scenes/many_caches_help.txt"
    , false, made<many_caches>};

}  // namespace herdlock::lab
