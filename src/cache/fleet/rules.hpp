// The rules of people for the keys of one cache (herdlock/hot_rules.hpp): hears of them, knows
// which hold now, and says when that changes.
// Why: docs/decisions/hot-keys.md#rules-are-one-text-with-a-version
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <herdlock/rules_store.hpp>

#include "algo/rule_list.hpp"
#include "algo/warm_up.hpp"
#include "cache/fleet/key_heat.hpp"
#include "runtime/cache_counters.hpp"
#include "runtime/store_core.hpp"
#include "runtime/timer_queue.hpp"

namespace herdlock::runtime {

/// The topic under which the processes of a cache tell each other of its hot keys, and find its
/// rules. It may be no key of a cache: it is one of the side keys.
inline std::string hot_keys_topic(std::string const& prefix) { return prefix + "hot-keys"; }

/// The store is in trouble, and is asked again soon: nobody has to do anything.
bool passes_by(failure const& why);

/// Loads the key, and says how it went.
using key_warmer = std::function<void(std::string const& key, std::function<void(failure)> done)>;

/// Keys are without the prefix of the cache. All members on the executor, but for of().
class cache_rules final : public rules_of_keys,
                          public rules_listener,
                          public timed,
                          public std::enable_shared_from_this<cache_rules> {
 public:
  /// The longest pause between two looks at the store; the shortest is three quarters of it. They
  /// find what was told and did not come.
  static constexpr milliseconds pause_of_looks{60'000};
  /// A single key that is pinned from some time on is so already that long before.
  static constexpr milliseconds head_start{10'000};

  /// `counters` outlive it, or close() does.
  cache_rules(std::shared_ptr<store_core> home, cache_counters& counters,
              std::string const& prefix);
  ~cache_rules() override { timer_queue::remove(*this); }

  // Any thread.
  algo::hot_verdict of(std::string_view key) const override;

  /// Asks for the rules, once: a cache that nobody uses costs the store nothing.
  void open();
  void follow(std::function<void()> changed) override { changed_.push_back(std::move(changed)); }
  /// `load` loads a key that is to be kept: algo::warm_up says when.
  void warm_by(key_warmer load);
  bool have_pins() const override;
  void close();

 private:
  void on_rules(store_rules const& told) override;
  void on_due(clock::time_point now) override;
  void heed(store_rules const& told, std::optional<std::uint64_t> known_at_look);
  bool take(algo::rule_list list, std::optional<std::uint64_t> known_at_look);
  std::uint64_t version() const;
  void look(clock::time_point now);
  void on_found(std::uint64_t known, result<store_rules> const& found);
  void apply(clock::time_point now);
  void warm();
  void load_what_is_due();
  void on_loaded(std::string const& key, failure const& why);
  void schedule(clock::time_point now);

  std::shared_ptr<store_core> const home_;
  cache_counters& counters_;
  std::string const prefix_;
  std::vector<std::function<void()>> changed_;
  key_warmer load_;
  algo::warm_up warm_;
  clock::time_point next_look_{};
  std::uint64_t applied_at_ = 0;            // by the wall clock
  std::optional<std::uint64_t> change_at_;  // since then
  bool opened_ = false;
  bool closed_ = false;

  mutable std::mutex guard_;
  algo::rule_list_reader reader_;        // guard_
  std::atomic<bool> are_there_ = false;  // so that without rules nobody waits for the guard
};

}  // namespace herdlock::runtime
