// The table of the near cache among threads: what a hit costs, who keeps what alive, and races.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdlib>
#include <functional>
#include <latch>
#include <new>
#include <optional>
#include <semaphore>
#include <set>
#include <thread>
#include <vector>

#include "near_table_fixture.hpp"

namespace {
std::atomic<std::size_t> allocations{0};
std::atomic<std::size_t> frees{0};

void* counted(void* got) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (got) return got;
  throw std::bad_alloc();
}
void give_back(void* what) noexcept {
  if (what) frees.fetch_add(1, std::memory_order_relaxed);
  std::free(what);
}
}  // namespace

// Not inlined: the compiler would see malloc and free behind new and delete, and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return counted(std::malloc(bytes)); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t align) {
  auto const unit = static_cast<std::size_t>(align);
  return counted(std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t align,
                                     std::nothrow_t const&) noexcept {
  return operator new(bytes, align);
}
[[gnu::noinline]] void operator delete(void* what) noexcept { give_back(what); }
[[gnu::noinline]] void operator delete(void* what, std::size_t) noexcept { give_back(what); }
[[gnu::noinline]] void operator delete(void* what, std::align_val_t) noexcept { give_back(what); }
[[gnu::noinline]] void operator delete(void* what, std::size_t, std::align_val_t) noexcept {
  give_back(what);
}

namespace herdlock_test {
namespace {

using herdlock::detail::most_numbered_threads;
using herdlock::detail::near_content;
using herdlock::detail::near_record;
using herdlock::detail::near_thread_cache;
using herdlock::detail::thread_number;

std::vector<std::string> some_keys(std::size_t count) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i)
    keys.push_back("a key of some bytes " + std::to_string(i));
  return keys;
}

/// A thread that does one thing after the other, and is idle in between.
class worker {
 public:
  ~worker() { run({}); }

  void run(std::function<void()> work) {
    work_ = std::move(work);
    ready_.release();
    done_.acquire();
  }

 private:
  void work() {
    while (true) {
      ready_.acquire();
      bool const last = !work_;
      if (!last) std::exchange(work_, {})();
      done_.release();
      if (last) return;
    }
  }

  std::function<void()> work_;
  std::binary_semaphore ready_{0};
  std::binary_semaphore done_{0};
  std::jthread thread_{[this] { work(); }};
};

std::size_t allocations_of(std::function<void()> const& work) {
  std::size_t const before = allocations;
  work();
  return allocations - before;
}

TEST(NearTableCost, AHitAllocatesNothing) {
  near_table_of_texts table;
  auto const keys = some_keys(8);
  for (std::string const& key : keys) table.keep(key, "a value of more than a few bytes");
  table.keep_missing("missing");
  auto const hit_all = [&] {
    for (std::string const& key : keys) ASSERT_TRUE(table.find(key, at(0)));
    ASSERT_TRUE(table.find("missing", at(0)));
  };
  hit_all();
  EXPECT_EQ(allocations_of([&] {
              for (int i = 0; i < 1000; ++i) hit_all();
            }),
            0u);
  EXPECT_EQ(allocations_of([&] { table.find("a key that is nowhere in the table", at(0)); }), 0u);
  worker other;
  EXPECT_GT(allocations_of([&] { other.run(hit_all); }), 0u);  // lines of its own
}

// A scan takes a line with one hit in thirty-two at most.
TEST(NearTableCost, HitsOfManyColdKeysHardlyAllocate) {
  near_table_of_texts table;
  auto const keys = some_keys(5000);
  for (std::string const& key : keys) table.keep(key, "v");
  auto const hit_all = [&] {
    for (std::string const& key : keys) ASSERT_TRUE(table.find(key, at(0)));
  };
  hit_all();
  EXPECT_LT(allocations_of(hit_all), 2 * keys.size() / (near_thread_cache::first_score - 4));
}

// However many keys have had a line: who loses it gives its handle back.
TEST(NearTableCost, TheHandlesAreAsManyAsTheLines) {
  near_table_of_texts table;
  auto const keys = some_keys(5000);
  for (std::string const& key : keys) table.keep(key, "v");
  std::size_t const before = allocations - frees;
  for (int i = 0; i < 5; ++i) {
    for (std::string const& key : keys) ASSERT_TRUE(table.find(key, at(0)));
  }
  // Of a line a control block and the list that has it; and the cache.
  EXPECT_LE(allocations - frees - before, 2 * near_thread_cache::lines + 1);
}

TEST(NearTableCost, ARecordThatHasLeftMakesNoHandles) {
  auto const record = std::make_shared<near_record>(near_content{
      "k", 1, nullptr, 1, 0, never, never, std::make_shared<herdlock::detail::near_trust>()});
  EXPECT_TRUE(near_record::handle(record, 0));
  EXPECT_EQ(near_record::handle(record, 0).use_count(), 2);
  record->close();
  record->release_handles();
  EXPECT_FALSE(near_record::handle(record, 0));
  EXPECT_EQ(record.use_count(), 1);
}

// Or else two threads on one key would write to the same count with each hit. Also where the key's
// earlier value is still in use, to which the threads' lines refer.
TEST(NearTableCost, EachThreadCountsItsReferencesForItself) {
  near_table_of_texts table;
  near_hit mine;
  near_hit others;
  worker other;
  for (std::string const text : {"v", "w"}) {
    table.keep("k", text);
    near_hit const mine_before = mine;
    near_hit const others_before = others;
    for (int i = 0; i < 2; ++i) {
      mine = table.find("k", at(0));
      other.run([&] { others = table.find("k", at(0)); });
    }
    EXPECT_EQ(mine.value.get(), others.value.get());
    EXPECT_TRUE(mine.value.owner_before(others.value) || others.value.owner_before(mine.value));
    long const count = mine.value.use_count();
    near_hit const again = table.find("k", at(0));
    EXPECT_EQ(mine.value.use_count(), count + 1);
    other.run([&] { others = table.find("k", at(0)); });
    EXPECT_EQ(mine.value.use_count(), count + 1);
  }
}

TEST(NearTableCost, HitsAreCountedOfAllThreads) {
  near_table_of_texts table;
  table.keep("k", "v");
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) {
          table.find("k", at(0));
          table.find("not there", at(0));
        }
      });
    }
  }
  EXPECT_EQ(table.counts().hits, 4000u);
}

// Threads that hit it and are idle since, or have ended, do not keep it.
TEST(NearTableLifetime, AValueGoesWithItsEntryAtOnce) {
  using ending = std::function<void(near_table_of_texts&)>;
  std::vector<ending> const endings = {
      [](auto& table) { table.drop("k"); },
      [](auto& table) { table.clear(); },
      [](auto& table) { table.keep("k", "another"); },
      [](auto& table) {
        table.keep("k", "refused", {near_generation{9}, never});
      },
      [](auto& table) {
        for (int i = 0; i < 4; ++i) table.keep(std::to_string(i), "evicts it");
      },
      [](auto& table) {
        table.end(first);
        table.sweep(at(0));
      },
  };
  for (ending const& end : endings) {
    near_table_of_texts table({.entries = 2});
    auto value = std::make_shared<std::string const>("v");
    std::weak_ptr<std::string const> const seen = value;
    table.insert("k", {first, never}, {std::move(value), 1}, at(0));
    auto const hit = [&] {
      for (int i = 0; i < 3; ++i) ASSERT_EQ(table.get("k"), "v");
    };
    worker idle;
    idle.run(hit);
    std::thread(hit).join();
    hit();
    EXPECT_FALSE(seen.expired());
    end(table);
    EXPECT_TRUE(seen.expired()) << &end - endings.data();
  }
}

TEST(NearTableLifetime, AThreadMayOutliveTheTable) {
  worker thread;
  std::weak_ptr<std::string const> seen;
  std::optional<near_table_of_texts> table;
  for (std::string const text : {"one", "two", "three"}) {
    table.emplace();  // where the one before it was
    auto value = std::make_shared<std::string const>(text);
    seen = value;
    table->insert("k", {first, never}, {std::move(value), 1}, at(0));
    thread.run([&] {
      for (int i = 0; i < 3; ++i) EXPECT_EQ(table->get("k"), text);
    });
    table.reset();
    EXPECT_TRUE(seen.expired());
  }
}

TEST(NearTableLifetime, AUsersValueOutlivesEntryThreadAndTable) {
  near_hit held;
  {
    near_table_of_texts table;
    table.keep("k", "v");
    std::thread([&] {
      table.find("k", at(0));
      held = table.find("k", at(0));
    }).join();
    table.drop("k");
  }
  EXPECT_EQ(*std::move(held).as<std::string>(), "v");
}

TEST(NearTableLifetime, TheTableMayGoWhileOthersUseItsValues) {
  for (int round = 0; round < 50; ++round) {
    std::optional<near_table_of_texts> table;
    table.emplace();
    for (int i = 0; i < 20; ++i) table->keep(std::to_string(i), "v");
    std::latch taken(4);
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        std::vector<near_hit> held;
        for (int i = 0; i < 40; ++i) held.push_back(table->find(std::to_string(i % 20), at(0)));
        taken.count_down();
        for (near_hit& one : held) ASSERT_EQ(*std::move(one).as<std::string>(), "v");
      });
    }
    taken.wait();
    table.reset();
  }
}

// Under no lock, and in no half-done state; while the table is destroyed, too.
TEST(NearTableLifetime, AValuesDestructorMayUseTheTable) {
  struct user {
    user(near_table_of_texts& in, std::atomic<int>& count, std::weak_ptr<std::string const>& text)
        : table(in), gone(count), inserted(text) {}
    ~user() {
      auto value = std::make_shared<std::string const>("v");
      inserted = value;
      table.find("k", at(0));
      table.insert("by a destructor", {first, never}, {std::move(value), 1}, at(0));
      table.drop("another");
      ++gone;
    }
    near_table_of_texts& table;
    std::atomic<int>& gone;
    std::weak_ptr<std::string const>& inserted;
  };
  std::atomic<int> gone = 0;
  std::weak_ptr<std::string const> inserted;
  {
    near_table_of_texts table({.entries = 100});
    auto const keep = [&](std::string const& key, near_generation in) {
      return table.insert(key, {in, never},
                          {std::make_shared<user const>(table, gone, inserted), 1}, at(0));
    };
    keep("k", first);
    keep("k", first);
    for (int i = 0; i < 2; ++i) table.find("k", at(0));
    table.drop("k");
    EXPECT_EQ(gone, 2);
    EXPECT_FALSE(keep("k", near_generation{9}));
    EXPECT_EQ(gone, 3);
    for (int i = 0; i < 300; ++i) keep(std::to_string(i), first);
    table.clear();
    EXPECT_EQ(gone, 303);
    keep("k", first);
  }
  EXPECT_EQ(gone, 304);
  EXPECT_TRUE(inserted.expired());
}

TEST(NearTableThreads, AThreadThatEndsGivesItsNumberBack) {
  std::set<std::size_t> numbers;
  for (int i = 0; i < 1000; ++i) std::thread([&] { numbers.insert(thread_number()); }).join();
  EXPECT_EQ(numbers.size(), 1u);
  EXPECT_LT(*numbers.begin(), most_numbered_threads);
}

// Objects of the thread that go behind its number, and still use a table.
TEST(NearTableThreads, AThreadThatHasGivenItsNumberBackHasNone) {
  static std::size_t last;
  struct user {
    ~user() { last = thread_number(); }
  };
  std::thread([] {
    thread_local user goes_last;
    EXPECT_NE(&goes_last, nullptr);
    EXPECT_LT(thread_number(), most_numbered_threads);
  }).join();
  EXPECT_EQ(last, most_numbered_threads);
}

TEST(NearTableThreads, NumbersAreUniqueAndThreadsWithoutOneAreServed) {
  near_table_of_texts table;
  table.keep("k", "v");
  std::size_t const count = most_numbered_threads + 20;
  std::vector<std::size_t> numbers(count);
  {
    std::barrier all(static_cast<std::ptrdiff_t>(count));
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        numbers[i] = thread_number();
        for (int again = 0; again < 3; ++again) EXPECT_EQ(table.get("k"), "v");
        all.arrive_and_wait();
        EXPECT_EQ(thread_number(), numbers[i]);
      });
    }
  }
  std::set<std::size_t> const distinct(numbers.begin(), numbers.end());
  EXPECT_LE(*distinct.rbegin(), most_numbered_threads);
  auto const without = std::count(numbers.begin(), numbers.end(), most_numbered_threads);
  EXPECT_GE(without, 20);
  EXPECT_EQ(distinct.size() - 1 + static_cast<std::size_t>(without), count);
  EXPECT_EQ(table.counts().hits, 3 * count);
}

}  // namespace
}  // namespace herdlock_test
