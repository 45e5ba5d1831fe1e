// The parts of a cache that know of keys in this process, whatever is in the store: the values that
// it keeps near, the keys that it finds hot, the rules of people. Each may be missing; here alone
// is that asked.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/fleet/hot.hpp"
#include "cache/fleet/rules.hpp"
#include "cache/keys/entries.hpp"
#include "cache/keys/home.hpp"
#include "cache/near/near.hpp"

namespace herdlock::runtime {

/// Keys are without the prefix where any thread may call, and with it on the executor. Copies are
/// of the same parts.
class local_parts {
 public:
  local_parts() = default;
  /// `mode`: what near_options::mode has come to.
  local_parts(home_ptr const& home, near_cache mode);

  // Any thread.
  detail::near_hit find(std::string_view own_key, detail::near_look who) const noexcept {
    if (unwatched_) return unwatched_->find(own_key, who);
    return near_ ? find_and_tell(own_key, who) : detail::near_hit();
  }
  failure pin(std::string_view own_key) const { return near_ ? near_->pin(own_key) : failure{}; }
  void unpin(std::string_view own_key) const {
    if (near_ && !near_->inherited()) near_->unpin(own_key);
  }
  std::vector<hot_key> top(std::size_t most) const {
    return hot_ ? hot_->top(most) : std::vector<hot_key>();
  }
  hot_keys_stats hot_stats() const { return hot_ ? hot_->stats() : hot_keys_stats(); }
  std::vector<fleet_hot_key> fleet_top(std::size_t most) const {
    return hot_ ? hot_->fleet_top(most) : std::vector<fleet_hot_key>();
  }
  hot_fleet_stats fleet_stats() const { return hot_ ? hot_->fleet_stats() : hot_fleet_stats(); }
  void add_counts(milliseconds max_staleness, cache_stats& into) const;
  /// No callback of a user's is called behind this.
  void shut() const {
    if (hot_) hot_->shut();
  }
  /// Whether keys can be due: hot, or pinned by rule.
  bool have_due_keys() const noexcept { return near_ && (hot_ || rules_); }

  // On the executor.
  void open() const {
    if (near_) near_->open();
  }
  void close() const;
  /// Loads the keys that the rules of people pin.
  void warm_by(key_warmer load) const {
    if (rules_) rules_->warm_by(std::move(load));
  }
  /// A call asks for the key, and no value that is kept here is its answer.
  void looked(std::string_view own_key, clock::time_point now) const;
  bool is_hot(cache_key const& key) const { return near_ && near_->is_hot(key); }
  /// Reads the key, over the connection of the near cache if its value is to be kept. `values`: the
  /// same store.
  void read(cache_store& values, cache_key const& key, layout form,
            std::function<void(result<near_read>)> done) const;
  /// A call of ours is about to write the key, or a load of ours. Until the end of what this
  /// returns nothing is kept of the key; null when nothing ever is.
  std::shared_ptr<near_write> write(cache_key const& key, std::string_view own_key) const;
  std::shared_ptr<near_write> fill(cache_key const& key, std::string_view own_key) const;
  /// The same for a key that nobody counts.
  std::shared_ptr<near_write> write_apart(cache_key const& key) const;
  /// Takes the entry out of the store, and says how that went.
  void remove(cache_store& values, cache_key const& key,
              std::function<void(failure const&)> then) const;
  void fence(asio::any_io_executor const& executor, handler<void> done) const;
  void drop_all() const {
    if (near_) near_->drop_all();
  }
  /// Null when nothing is kept. For entries with tags, which rest on records.
  std::shared_ptr<cache_near> const& near() const noexcept { return near_; }

 private:
  detail::near_hit find_and_tell(std::string_view own_key, detail::near_look who) const noexcept;

  std::shared_ptr<cache_hot> hot_;      // null when no key is counted
  std::shared_ptr<cache_rules> rules_;  // null when none is obeyed
  std::shared_ptr<cache_near> near_;    // null when nothing is kept
  cache_near* unwatched_ = nullptr;     // the same where no observer is told of its hits
  std::shared_ptr<cache_events> events_;
};

}  // namespace herdlock::runtime
