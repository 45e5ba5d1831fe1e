// The hot keys of one cache: counts what is asked for, wherever it is answered, and says which keys
// are hot, so that the near cache keeps them.
// Why: docs/decisions/hot-keys.md#a-cache-keeps-what-is-hot
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <herdlock/hot_keys.hpp>

#include "algo/hot_places.hpp"
#include "algo/keep_tries.hpp"
#include "cache/fleet/hot_keys_core.hpp"
#include "cache/fleet/keep.hpp"
#include "cache/fleet/key_heat.hpp"
#include "cache/fleet/members.hpp"
#include "runtime/store_core.hpp"
#include "runtime/timer_queue.hpp"

namespace herdlock::runtime {

/// Calls of a user's code, of which none begins behind shut(), and none is under way but for the
/// one that called it.
class callback_gate {
 public:
  template <class Call>
  void run(Call&& call) {
    std::lock_guard const lock(mutex_);
    if (open_) call();
  }
  void shut() {
    std::lock_guard const lock(mutex_);
    open_ = false;
  }

 private:
  std::recursive_mutex mutex_;  // a callback may destroy the cache
  bool open_ = true;
};

/// Keys are without the prefix of the cache. It takes its memory and ticks from the first use on:
/// when something is used; and by a timer while a key is hot, and where hot keys are kept, whose
/// hits it does not see. That timer is slow while nothing is used.
class cache_hot final : public key_heat,
                        public timed,
                        public std::enable_shared_from_this<cache_hot> {
 public:
  /// Threads share the shards: a cache is not the only one in its process.
  static constexpr std::size_t most_shards = 8;
  static constexpr milliseconds tick{50};
  /// The pause is doubled up to this while nothing is used, and is this while no key is known.
  static constexpr milliseconds slow_tick{1000};

  cache_hot(std::shared_ptr<store_core> home, hot_keys_options options);
  /// The processes of the cache tell each other. Before anything else.
  void join(fleet_settings settings);
  /// `entries` are told which keys are hot, for the rule `keep`. Before anything else.
  void keep_entries(std::shared_ptr<cache_keep> entries) {
    entries_ = std::move(entries);
    entries_->open();
  }
  ~cache_hot() override { timer_queue::remove(*this); }

  // Any thread.
  std::vector<hot_key> top(std::size_t most) { return core_->top(most); }
  hot_keys_stats stats() { return core_->stats(); }
  std::vector<fleet_hot_key> fleet_top(std::size_t most) const;
  hot_fleet_stats fleet_stats() const;
  void add_counts(cache_stats& into) const;
  detail::hot_counter* hits() noexcept override { return &core_->counter(); }
  /// No callback is called behind this, and none is under way on another thread.
  void shut() { callbacks_.shut(); }

  // On the executor.
  void keep_by(hot_keeper near) override;
  void read(std::string_view key, clock::time_point now) { used(key, {1, 0}, now); }
  /// A call of ours has written the key.
  void wrote(std::string_view key);
  /// A load of ours has written the key, which is no change.
  void filled(std::string_view key);
  void changed(std::string_view key) override;
  bool has(std::string_view key) override { return find(key) != nullptr; }
  bool may_try(std::string_view key, clock::time_point now) override;
  std::uint64_t try_sent(std::string_view key, clock::time_point now) override;
  void try_answered(std::string_view key, std::uint64_t number) override;
  void try_again(std::string_view key) override;
  void name(std::string_view key) override;
  void close();

 private:
  struct hot_key_here {
    std::string key;           // once a value of it is kept
    bool awaits_push = false;  // for a write of our own
    algo::keep_tries tries;
  };

  void on_due(clock::time_point now) override;
  void used(std::string_view key, algo::hot_uses uses, clock::time_point now);
  void becomes_hot(std::string const& key, std::uint64_t hash, algo::hot_by how,
                   std::uint64_t low = 0);
  void cools(std::string const& key, std::uint64_t hash, algo::hot_by how);
  /// The key has lost its place.
  void end(std::string const& key, std::uint64_t hash);
  /// The key has a place now.
  void begin(std::string const& key, std::uint64_t hash);
  void fill_free_places();
  hot_key_here* find(std::string_view key);

  std::shared_ptr<store_core> const home_;
  hot_keys_options const options_;
  hot_keeper near_;
  callback_gate callbacks_;
  std::shared_ptr<detail::hot_keys_core> const core_;
  std::shared_ptr<lone_process> fleet_ = std::make_shared<lone_process>();
  std::shared_ptr<cache_keep> entries_;  // null when no rule is obeyed
  algo::hot_places places_;
  // The keys that have a place, by the hash. Two keys of one hash would be hot together, which
  // harms nobody.
  std::unordered_map<std::uint64_t, hot_key_here> hot_;
  clock::time_point next_tick_{};
  milliseconds pause_ = tick;  // of the timer, while no key is hot
  bool closed_ = false;
};

}  // namespace herdlock::runtime
