// The keys of a cache that are kept near.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <herdlock/cache_options.hpp>

#include "cache/fleet/key_heat.hpp"
#include "runtime/tag_names.hpp"

namespace herdlock::runtime {

/// The parts that know which keys are to be kept. Never null.
struct key_sources {
  std::shared_ptr<key_heat> heat;
  std::shared_ptr<rules_of_keys> rules;
};

/// The keys that a cache keeps whether or not they are asked for often: at most `most`. Any thread.
class pinned_keys {
 public:
  explicit pinned_keys(std::size_t most) : most_(most) {}

  /// Returns false if there is no room; true, too, for a key that is there.
  bool add(std::string_view key) {
    std::lock_guard const lock(mutex_);
    if (keys_.contains(key)) return true;
    if (keys_.size() >= most_) return false;
    keys_.emplace(key);
    return true;
  }
  /// Whether it was there.
  bool remove(std::string_view key) {
    std::lock_guard const lock(mutex_);
    auto const at = keys_.find(key);
    if (at == keys_.end()) return false;
    keys_.erase(at);
    return true;
  }
  bool has(std::string_view key) const {
    std::lock_guard const lock(mutex_);
    return keys_.contains(key);
  }
  bool empty() const {
    std::lock_guard const lock(mutex_);
    return keys_.empty();
  }
  std::size_t most() const noexcept { return most_; }

 private:
  std::size_t const most_;
  mutable std::mutex mutex_;
  std::set<std::string, std::less<>> keys_;
};

/// A cache_key has the prefix. On the executor, but for `pins` and stays().
class near_selection {
 public:
  near_selection(near_cache mode, cache_options const& options, key_sources by)
      : pins(options.near.entries),
        mode_(mode),
        prefix_(options.prefix),
        has_tags_(options.format == cache_format::framed),
        heat_(std::move(by.heat)),
        rules_(std::move(by.rules)) {}

  std::string const& prefix() const noexcept { return prefix_; }
  /// The key without the prefix; nothing for a key of another cache.
  std::optional<std::string_view> own(std::string_view key) const {
    if (!key.starts_with(prefix_)) return std::nullopt;
    return key.substr(prefix_.size());
  }

  /// Whether the key is that of a tag's record, which is kept beside the entries that have the tag.
  bool is_of_tag(std::string_view own_key) const {
    return has_tags_ && own_key.starts_with(tag_record_prefix);
  }

  /// Whether a value of the key is kept.
  bool has(std::string_view own_key) const {
    if (is_of_tag(own_key)) return true;
    auto const ruled = ruled_of(own_key);
    if (ruled.denied) return false;
    return stays(own_key, ruled) || heat_->find(own_key);
  }
  /// Whether a value of the key is kept also when the key is not hot.
  bool stays(std::string_view own_key) const { return stays(own_key, ruled_of(own_key)); }
  /// Whether a read of the key is to bring a value.
  bool is_to_be_read(cache_key const& key, clock::time_point now) const {
    auto const its = own(key.str());
    if (!its) return false;
    if (is_of_tag(*its)) return true;
    auto const ruled = ruled_of(*its);
    if (ruled.denied) return false;
    if (stays(*its, ruled)) return true;
    auto const* const place = heat_->find(*its);
    return place && place->tries.may_send(now);
  }
  /// The place of a hot key; null for others.
  algo::hot_place* place_of(cache_key const& key) const {
    auto const its = own(key.str());
    return its && !is_of_tag(*its) ? heat_->find(*its) : nullptr;
  }
  /// The value is kept, or a write of ours has ended.
  void try_again(cache_key const& key) const {
    if (auto* const place = place_of(key)) place->tries.changed();
  }
  /// Whether the key is hot, or treated as if it were.
  bool is_hot(cache_key const& key) const {
    auto const its = own(key.str());
    if (!its) return false;
    auto const ruled = ruled_of(*its);
    return !ruled.denied && (ruled.pinned || heat_->find(*its));
  }

  pinned_keys pins;

 private:
  algo::hot_verdict ruled_of(std::string_view own_key) const { return rules_->of(own_key); }
  bool stays(std::string_view own_key, algo::hot_verdict const& ruled) const {
    if (ruled.denied) return false;
    return ruled.pinned || mode_ == near_cache::all || pins.has(own_key);
  }

  near_cache const mode_;
  std::string const prefix_;
  bool const has_tags_;
  std::shared_ptr<key_heat> const heat_;
  std::shared_ptr<rules_of_keys> const rules_;
};

}  // namespace herdlock::runtime
