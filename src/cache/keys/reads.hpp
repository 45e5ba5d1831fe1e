// Reads of entries: looked, found, missed.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <herdlock/detail/cache_core.hpp>

#include "cache/keys/entries.hpp"
#include "cache/keys/policies.hpp"

namespace herdlock::runtime {

/// All members on the executor.
class key_reads {
 public:
  using on_found = std::function<void(result<std::optional<found_entry>>)>;
  /// Whether one caller is answered with what a read finds, who may move from it, or several.
  enum class sharing { one, several };

  /// `what` outlives this.
  key_reads(key_policies& what, detail::cache_decode decode) : of_(what), decode_(decode) {}

  /// A call asks for the key: the value that is kept of it, if there is one for this caller.
  detail::near_hit looked(detail::cache_caller const& caller, clock::time_point now);
  /// The value that is kept of the key, for a caller who takes one.
  detail::near_hit kept_for(detail::cache_caller const& caller, detail::near_look who) const;
  /// Reads the entry. Nothing is found where it is none of ours, or has ended.
  void read(cache_key const& key, sharing how, on_found done);
  /// The entry in a stored value; nothing when it cannot be decoded.
  std::optional<found_entry> open(cache_value stored);
  /// The use that a caller makes of an entry that was found. The loader of a load that is to
  /// replace the entry shares its value.
  found_use use_of(detail::cache_caller const& caller, found_entry& entry, clock::time_point now);
  static milliseconds refresh_below(entry_age const& age);

 private:
  struct look;
  struct stored_facts {
    std::size_t bytes = 0;
    std::uint64_t fingerprint = 0;
  };

  void send(std::shared_ptr<look> const& about, cache_store& values);
  void judge(std::shared_ptr<look> const& about, result<near_read> got);
  void end(look& about, result<near_read> got, algo::tag_verdict by_tags);
  bool take_header_off(cache_value& stored, std::optional<entry_age>& age) const;
  void keep_near(cache_key const& key, found_entry& found, near_reading const& of,
                 stored_facts const& is);
  void plan_near(cache_key const& key, found_entry& found, algo::near_entry& how,
                 clock::time_point now) const;

  key_policies& of_;
  detail::cache_decode const decode_;
};

}  // namespace herdlock::runtime
