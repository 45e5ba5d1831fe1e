// What is kept near and memory: where that ends it is an answer and not kept, and a hit takes none.
#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>

#include "cache_tags_fixture.hpp"

namespace {
std::atomic<std::size_t> requests{0};
// Of requests for so many bytes; 0: of none.
std::atomic<std::size_t> watched_bytes{0};
std::atomic<std::size_t> seen{0};
std::atomic<std::size_t> failing{0};  // the one that gets no memory, of those that are seen
}  // namespace

// Without inlining, or GCC takes the free() of a new for a mistake. Those with nothrow too: a
// sanitizer has its own of those that are left out.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++requests;
  bool const fails = size == watched_bytes && ++seen == failing;
  void* const got = fails ? nullptr : std::malloc(size);
  if (got) return got;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, std::nothrow_t const&) noexcept {
  ++requests;
  return std::malloc(size);
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t align,
                                     std::nothrow_t const&) noexcept {
  ++requests;
  auto const unit = static_cast<std::size_t>(align);
  return std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t align) {
  void* const got = operator new(size, align, std::nothrow);
  if (got) return got;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* what) noexcept { std::free(what); }
[[gnu::noinline]] void operator delete(void* what, std::size_t) noexcept { std::free(what); }
[[gnu::noinline]] void operator delete(void* what, std::align_val_t) noexcept { std::free(what); }
[[gnu::noinline]] void operator delete(void* what, std::size_t, std::align_val_t) noexcept {
  std::free(what);
}

namespace herdlock::scripted {
namespace {

class CacheNearMemory : public CacheTags {
 protected:
  // A tag of each key, whose record has a name of a length that nothing else has.
  static constexpr std::size_t bytes_of_name = 409;

  CacheNearMemory() {
    tracks = true;
    auto options = tagged();
    options.hot.keys = std::nullopt;
    options.tags.of = [](std::string_view key) {
      return std::vector{std::string(key) + std::string(bytes_of_tag() - key.size(), 'x')};
    };
    other.reset();
    open(options);
    other.emplace(*opened, options);
    options.near.mode = near_cache::all;
    strings.emplace(*opened, options);
    settle();
  }
  static std::size_t bytes_of_tag() {
    return bytes_of_name - std::string_view("herdlock:tag:").size();
  }
  /// What a call gets for an entry that is read and kept, where the n-th name gets no memory.
  std::string read_and_keep(std::string_view key, std::size_t n) {
    load_there("there", key);
    seen = 0;
    failing = n;
    watched_bytes = bytes_of_name + 1;
    auto& c = begin(*strings, key);
    watched_bytes = 0;
    return c.answers > 0 ? c.value() : "nothing";
  }
};

// The last name that is made for an entry is the one that its record is looked up by.
TEST_F(CacheNearMemory, WhatCannotBeKeptIsAnAnswer) {
  EXPECT_EQ(read_and_keep("k", 0), "there");
  ASSERT_EQ(strings->stats().near_inserts, 2u) << "the entry, and its tag";
  std::size_t const names = seen;
  ASSERT_GT(names, 1u);
  EXPECT_EQ(read_and_keep("l", names), "there");
  EXPECT_EQ(seen, names);
  EXPECT_EQ(strings->stats().near_inserts, 3u) << "its tag alone";
  EXPECT_EQ(load_here("never", "l"), "there");
}

class CacheNearHits : public CacheTest {
 protected:
  // Too long to be in a std::string itself.
  static constexpr std::string_view key = "user:012345678:profile";
  static_assert(key.size() == 22);

  CacheNearHits() { tracks = true; }

  void keep(cache_options options) {
    options.near.mode = near_cache::all;
    options.near.max_staleness = 1h;  // nobody asks for a sign of life during the hits
    open(options);
    ASSERT_GT(requests.load(), 0u) << "else nothing is counted";
    script->entries[std::string(key)].value = cache_value("there");
    ASSERT_TRUE(run_until([&] {
      auto const before = strings->stats().near_hits;
      call one;
      load(one, key);
      EXPECT_TRUE(run_until([&] { return one.answers > 0; }));
      return strings->stats().near_hits > before;
    }));
  }
  /// What many calls of this thread request, which nobody else can answer: the store does not run.
  std::size_t requests_of_hits() const {
    std::size_t const before = requests;
    for (int i = 0; i < 1000; ++i) {
      auto const got = strings->get_or_load_shared(key, [] { return std::string("never"); });
      EXPECT_TRUE(got && *got == "there");
    }
    return requests - before;
  }
};

TEST_F(CacheNearHits, TakeNoMemoryWhereNobodyCountsKeys) {
  keep({});
  requests_of_hits();  // the thread's own lines
  EXPECT_EQ(requests_of_hits(), 0u);
}

TEST_F(CacheNearHits, TakeNoMemoryWhereKeysAreCounted) {
  keep({.hot = {.keys = hot_keys_options{}}});
  requests_of_hits();  // and its counters
  EXPECT_EQ(requests_of_hits(), 0u);
}

}  // namespace
}  // namespace herdlock::scripted
