// The things that all parts of one cache share.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <herdlock/backend.hpp>
#include <herdlock/detail/cache_core.hpp>

#include "cache/keys/trouble.hpp"
#include "runtime/cache_counters.hpp"
#include "runtime/random.hpp"
#include "runtime/store_core.hpp"

namespace herdlock::runtime {

/// Whether entries have times of their own.
inline bool is_framed(cache_options const& options) {
  return options.format == cache_format::framed;
}

/// The key of a cache without the prefix.
inline std::string_view without_prefix(cache_key const& key, cache_options const& options) {
  return std::string_view(key.str()).substr(options.prefix.size());
}

/// All parts of a cache keep it. On the executor but for the constants and the counters.
struct cache_home {
  /// `how`: as the user gave them.
  cache_home(std::shared_ptr<store_core> values, std::weak_ptr<detail::store_context> of_values,
             cache_options how, layout its_form, claims_in where)
      : store(std::move(values)),
        context(std::move(of_values)),
        lasts(how.ttl == herdlock::lasting),
        options(expressed(watched(std::move(how)))),
        form(its_form),
        trouble(counters, where, in_words()) {}

  std::string in_words() const { return cache_in_words(store->display_name(), options.prefix); }
  std::string_view own(cache_key const& key) const { return without_prefix(key, options); }
  /// The ttl of an entry with this value, with its jitter; `set`: the ttl that its loader has set.
  milliseconds ttl_of(cache_value const& value, std::optional<milliseconds> set = {}) const;

  /// Keeps what is known of keys: for a reply that is to come back to a part of that.
  std::shared_ptr<void> keep() const { return owner.lock(); }

  std::shared_ptr<store_core> const store;
  std::weak_ptr<detail::store_context> const context;  ///< of the values
  bool const lasts;                                    ///< entries do not end by themselves
  cache_counters counters;
  cache_options const options;
  layout const form;
  cache_trouble trouble;
  std::weak_ptr<void> owner;  ///< of the parts

 private:
  /// Lasting entries by the options of all others: an entry is kept for as long as a store keeps
  /// anything, and is stale when its refresh is due.
  static cache_options expressed(cache_options options);
  /// The observer is the counters', and goes when its calls have ended.
  cache_options watched(cache_options how);
};

using home_ptr = std::shared_ptr<cache_home>;

}  // namespace herdlock::runtime
