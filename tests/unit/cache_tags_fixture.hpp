// Two processes' caches of entries with tags over one scripted store.
#pragma once

#include "algo/entry_tags.hpp"
#include "cache_age_fixture.hpp"

namespace herdlock::scripted {

class CacheTags : public CacheAge {
 protected:
  static constexpr auto record = "herdlock:tag:t";

  CacheTags() { open_tagged(tagged()); }
  void TearDown() override {
    other.reset();
    CacheAge::TearDown();
  }

  /// Every key has the tag t, and each one more of its own.
  static cache_options tagged() {
    auto options = framed();
    options.tags.of = [](std::string_view key) {
      return std::vector<std::string>{"t", "of " + std::string(key)};
    };
    options.tags.max_age = 0ms;
    return options;
  }
  void open_tagged(cache_options const& options) {
    other.reset();
    open(options);
    other.emplace(*opened, options);
  }

  /// What a call is told, once its loader has come to this value where it runs.
  std::string load_from(herdlock_test::relayed_coroutines const& from, std::string const& loaded,
                        std::string_view key = "k") {
    call& c = begin(from, key);
    loader.value = loaded;
    loader.let_go();
    settle();
    loader.hold();
    return c.value();
  }
  std::string load_here(std::string const& loaded, std::string_view key = "k") {
    return load_from(*strings, loaded, key);
  }
  std::string load_there(std::string const& loaded, std::string_view key = "k") {
    return load_from(*other, loaded, key);
  }
  call& begin(herdlock_test::relayed_coroutines const& from, std::string_view key = "k") {
    auto& c = calls.emplace_back();
    from.async_get_or_load(key, loader_by_reference(), herdlock_test::as_result(c.token()));
    settle();
    return c;
  }

  /// However long the tags' records take.
  void expect_one_load_for_all() {
    auto& c = begin(*strings);
    EXPECT_TRUE(run_until([&] { return loader.runs == 1; }));
    loader.let_go();
    settle();
    EXPECT_EQ(c.value(), "loaded");
    EXPECT_EQ(load_there("never"), "loaded");
  }

  failure end_tag(cache<std::string> const& from, detail::tag_ending how,
                  std::string_view tag = "t") {
    std::optional<result<void>> done;
    auto told = herdlock_test::as_result([&](result<void> r) { done = std::move(r); });
    if (how == detail::tag_ending::invalidate) {
      from.async_invalidate_tag(tag, std::move(told));
    } else {
      from.async_expire_tag(tag, std::move(told));
    }
    settle();
    if (!done) return make_failure(errc::timed_out, "it has not ended");
    return done->has_error() ? done->error() : failure{};
  }
  void invalidate_here(std::string_view tag = "t") {
    EXPECT_FALSE(end_tag(*strings, detail::tag_ending::invalidate, tag).code);
  }
  void invalidate_there(std::string_view tag = "t") {
    EXPECT_FALSE(end_tag(*other, detail::tag_ending::invalidate, tag).code);
  }
  void expire_here() { EXPECT_FALSE(end_tag(*strings, detail::tag_ending::expire).code); }
  void put(std::string const& value) {
    std::optional<result<void>> done;
    strings->async_put("k", value, herdlock_test::as_result([&](result<void> r) { done = r; }));
    settle();
    EXPECT_TRUE(done && done->has_value());
  }
  /// What the store does to requests of this kind for keys that begin so.
  void make_fail(std::string const& verb, std::string const& key, fault how) {
    script->script = [this, verb, key, how](std::string const& asked, std::size_t) {
      return asked == verb && script->asked.starts_with(key) ? how : fault::none;
    };
  }
  algo::tag_generations record_in_store() const {
    auto const entry = stored(record);
    auto const numbers =
        entry ? algo::decode_generations(std::get<std::string>(entry->value)) : std::nullopt;
    return numbers.value_or(algo::tag_generations());
  }
  /// It is to end before an entry that is loaded now.
  void shorten_record() {
    algo::entry_header header;
    header.ttl = 1s;
    header.created = script->time;
    script->entries[record].value = runtime::with_header(
        {std::move(header), algo::encode_generations(record_in_store())}, layout::string);
  }
  /// Each of them a look at the claim.
  std::size_t claims_of_record() const {
    return static_cast<std::size_t>(
        std::count(script->claimed_keys.begin(), script->claimed_keys.end(), record));
  }
  std::optional<std::vector<algo::entry_tag>> stored_tags() const {
    auto const entry = stored();
    return entry ? algo::decode_tags(entry->header.extensions) : std::nullopt;
  }

  std::optional<herdlock_test::relayed_coroutines> other;
};

}  // namespace herdlock::scripted
