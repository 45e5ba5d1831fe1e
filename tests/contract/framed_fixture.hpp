// Keys of both layouts, with the entries that the tests of refreshing and expiring keep there.
#pragma once

#include "cache/keys/frame.hpp"
#include "fixture.hpp"

namespace herdlock_test {

struct keyed_entry {
  cache_key key;
  layout form;
  cache_value old_value;
  cache_value new_value;
};

inline void PrintTo(keyed_entry const& entry, std::ostream* out) { *out << entry.key.str(); }

/// Hashes are of more than one field, so that one that is mixed or half is seen.
inline std::vector<keyed_entry> entries_of_both_layouts() {
  return {{cache_key("text:1"), layout::string, std::string("old"), std::string("new")},
          {cache_key("hash:1"), layout::hash, hash_fields{{"name", "old"}, {"only old", "1"}},
           hash_fields{{"name", "new"}, {"only new", "1"}}}};
}

/// What a store found; fields in the order of their names.
inline cache_lookup sorted(cache_lookup found) {
  if (!found) return found;
  if (auto* const fields = std::get_if<hash_fields>(&*found)) {
    std::sort(fields->begin(), fields->end());
  }
  return found;
}

inline algo::entry_header some_header() {
  return {.created = std::chrono::microseconds(1'764'000'000'123'456),
          .load_time = 250ms,
          .ttl = 5min,
          .grace = 1h};
}

inline cache_value framed(cache_value value, layout form) {
  return runtime::with_header({some_header(), std::move(value)}, form);
}

inline result<claim_reply> refresh(client& c, keyed_entry const& entry, owner_token const& owner,
                                   milliseconds below, milliseconds ttl = 1min) {
  return c.get(c.start_claim({entry.key, owner, ttl, entry.form, below}));
}

inline result<bool> expire(client& c, cache_key const& key, milliseconds keep) {
  return c.get(
      c.start<bool>([&](auto done) { c.store().values->expire(key, keep, std::move(done)); }));
}

inline std::chrono::microseconds time_of_store(client& c) {
  return c
      .get(c.start<std::chrono::microseconds>(
          [&](auto done) { c.store().values->now(std::move(done)); }))
      .value();
}

// An entry of `written` is old for who refreshes below `old`, and young for `young`.
inline constexpr milliseconds young = 1min;
inline constexpr milliseconds written = 1h;
inline constexpr milliseconds old = 2h;

/// An entry that is old for who refreshes, or young, and a client that does.
class refresh_fixture : public store_contract {
 protected:
  std::vector<keyed_entry> const entries = entries_of_both_layouts();

  void put_old(keyed_entry const& entry, milliseconds ttl = written) {
    ASSERT_TRUE(c.put(entry.key, entry.old_value, ttl).has_value());
  }
  fencing_token refreshed_by(owner_token const& owner, keyed_entry const& entry,
                             milliseconds ttl = 1min) {
    return as<claimed>(refresh(c, entry, owner, old, ttl)).fencing;
  }
  static cache_lookup look(client& at, keyed_entry const& entry) {
    return sorted(at.look(entry.key, entry.form).value());
  }
  cache_lookup look(keyed_entry const& entry) { return look(c, entry); }
  result<claim_reply> claim(client& at, keyed_entry const& entry, owner_token const& owner) {
    return refresh(at, entry, owner, 0ms);
  }
  void expect_superseded(keyed_entry const& entry, owner_token const& owner) {
    EXPECT_EQ(c.extend(entry.key, owner, 1min).value(), renew_reply::lost);
    EXPECT_EQ(c.fail(entry.key, owner, "late", 1h).value(), fill_reply::superseded);
    EXPECT_EQ(c.fail(entry.key, owner, "late", 0ms).value(), fill_reply::superseded);
    EXPECT_EQ(c.fill(entry.key, owner, entry.new_value).value(), fill_reply::superseded);
  }
};

}  // namespace herdlock_test
