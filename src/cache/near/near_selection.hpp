// The keys of a cache that are kept near.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <herdlock/cache_options.hpp>

#include "cache/fleet/key_heat.hpp"
#include "cache/near/pinned_keys.hpp"
#include "runtime/tag_names.hpp"

namespace herdlock::runtime {

/// The parts that know which keys are to be kept. Never null.
struct key_sources {
  std::shared_ptr<key_heat> heat;
  std::shared_ptr<rules_of_keys> rules;
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
