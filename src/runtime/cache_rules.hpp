// What people have ruled of the keys of one cache (herdlock/hot_rules.hpp): hears of it, knows
// what holds now, and says when that changes.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <herdlock/rules_store.hpp>

#include "algo/hot_list.hpp"
#include "runtime/cache_counters.hpp"
#include "runtime/store_core.hpp"
#include "runtime/timer_queue.hpp"

namespace herdlock::runtime {

/// Under which the processes of a cache tell each other of its hot keys, and find its rules. It may
/// be no key of a cache: it is one of side keys.
inline std::string hot_keys_topic(std::string const& prefix) { return prefix + "hot-keys"; }

/// Keys are without the prefix of the cache. All members on the executor, but for of().
class cache_rules final : public rules_listener,
                          public timed,
                          public std::enable_shared_from_this<cache_rules> {
 public:
  /// Between two looks at the store, for what was told and did not come.
  static constexpr milliseconds pause_of_looks{60'000};
  /// A single key that is pinned from some time on is so already that long before.
  static constexpr milliseconds head_start{10'000};

  /// `counters` outlive it, or close() does.
  cache_rules(std::shared_ptr<store_core> home, cache_counters& counters,
              std::string const& prefix);
  ~cache_rules() override { timer_queue::remove(*this); }

  // Any thread.
  algo::hot_verdict of(std::string_view key) const;

  /// Asks for them, once: a cache that nobody uses costs the store nothing.
  void open();
  /// Who is called when something else holds than before, perhaps.
  void follow(std::function<void()> changed) { changed_ = std::move(changed); }
  /// Who loads a key that is to be kept. Each key once, while it is pinned.
  void warm_by(std::function<void(std::string const& key)> load);
  /// Some key is pinned, or will be.
  bool have_pins() const;
  void close();

 private:
  void on_rules(store_rules const& told) override;
  void on_due(clock::time_point now) override;
  bool take(algo::hot_list list);
  void look(clock::time_point now);
  void apply(clock::time_point now);
  void warm();
  void schedule(clock::time_point now);

  std::shared_ptr<store_core> const home_;
  cache_counters& counters_;
  std::string const prefix_;
  std::function<void()> changed_;
  std::function<void(std::string const& key)> load_;
  std::set<std::string> warmed_;
  clock::time_point next_look_{};
  bool opened_ = false;
  bool closed_ = false;

  mutable std::mutex guard_;
  algo::hot_list_reader reader_;         // guard_
  std::atomic<bool> are_there_ = false;  // so that without rules nobody waits for the guard
};

}  // namespace herdlock::runtime
