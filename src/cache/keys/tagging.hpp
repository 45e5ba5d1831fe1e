// The tags of the entry that a load comes to: those that its key tells, those of the entry that it
// replaces, and those that its loader names.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <herdlock/detail/cache_core.hpp>

#include "algo/load_machine.hpp"
#include "cache/keys/entries.hpp"
#include "cache/keys/policies.hpp"

namespace herdlock::runtime {

/// The extensions of an entry's header: the generations of its tags. None: they are unknown, and
/// the value is not to be stored.
using load_extensions = std::optional<std::string>;

/// The tags that a value may have, as they are known before its load begins.
struct load_tags {
  std::vector<std::string> of_key;  ///< by tag_options::of
  std::vector<std::string> all;     ///< with those of the entry that its loader may keep
};

/// Tags that are known behind the load alone.
struct named_tags {
  std::vector<std::string> names;
  clock::time_point load_began;
  load_extensions prepared;  ///< of before the load
  bool is_stored;            ///< the value is to be
};

/// All members on the executor.
class key_tagging {
 public:
  /// `what` outlives this.
  explicit key_tagging(key_policies& what) : of_(what) {}

  /// The state that a loader is given.
  detail::load_state given(load_purpose const& why) const {
    return {why.replaced, of_.tags != nullptr, {}};
  }
  /// To be found before a load begins. An error when those of tag_options::of cannot be such, and
  /// nothing is to be loaded.
  result<load_tags> of_load(cache_key const& key, load_purpose const& why) const;
  /// R22: finds out the generations of before the load, whatever changes while it runs.
  void prepare(load_tags const& tags, algo::load_guard guard,
               std::function<void(load_extensions)> done);
  /// R22 for named tags: the extensions with theirs, if this process knew their generations before
  /// the load began. None else: a tag may have ended meanwhile, so that the value is not to be
  /// stored. `void_load`: one of them has ended here. An error when they cannot be the tags of one
  /// entry. REQUIRES: framed entries.
  /// Why: docs/decisions/tags.md#a-named-tag-was-known-before-the-load
  void add(named_tags what, std::function<void()> const& void_load,
           std::function<void(result<load_extensions>)> done);

 private:
  key_policies& of_;
};

/// Takes the tags that a loader has named, and those of the entry that it keeps.
std::vector<std::string> take_named(detail::load_outcome& outcome, load_purpose& why);

}  // namespace herdlock::runtime
