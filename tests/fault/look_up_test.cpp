// Stores whose server is named, by a name server of our own: this program's getaddrinfo. And a
// process that can have no more threads, by its pthread_create.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <herdlock/herdlock.hpp>
#include <string>
#include <string_view>
#include <support/etcd_server.hpp>
#include <support/eventually.hpp>
#include <support/free_port.hpp>
#include <support/name_server.hpp>
#include <support/redis_server.hpp>
#include <support/relay.hpp>
#include <support/temp_dir.hpp>
#include <thread>

#include "stores/common/look_up.hpp"
#include "stores/common/worker_threads.hpp"

namespace {

using herdlock_test::names;

std::atomic<bool> no_thread_is_left = false;

template <class Function>
Function* next_of(char const* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// A name has two addresses; the tests' servers are at the second. Two names are special: that of an
// ensemble has one, and that of a database is found only by who asks for no service.
extern "C" [[gnu::visibility("default")]] int getaddrinfo(char const* host, char const* service,
                                                          addrinfo const* hints, addrinfo** found) {
  static auto const real = next_of<decltype(getaddrinfo)>("getaddrinfo");
  std::string_view const name = host ? host : "";
  if (!name.ends_with(".example")) return real(host, service, hints, found);
  if (name == "database.example" && service) return EAI_AGAIN;
  names().pass();
  if (name == "ensemble.example") return real("127.0.0.1", service, hints, found);
  int const failed = real("127.0.0.2", service, hints, found);
  return failed != 0 ? failed : real("127.0.0.1", service, hints, &(*found)->ai_next);
}

extern "C" [[gnu::visibility("default")]] int pthread_create(pthread_t* made,
                                                             pthread_attr_t const* how,
                                                             void* (*body)(void*), void* with) {
  static auto const real = next_of<decltype(pthread_create)>("pthread_create");
  return no_thread_is_left ? EAGAIN : real(made, how, body, with);
}

namespace herdlock_test {
namespace {

using namespace herdlock;

std::string failure_of(store const& where) {
  try {
    auto const held = lock(where, "stock/1").acquire({.ttl = std::chrono::seconds(5), .wait = {}});
    return held ? "acquired" : "busy";
  } catch (herdlock::error const& e) {
    return e.what();
  }
}

struct silence {
  silence() { names().hang(); }
  ~silence() { names().answer(); }
  silence(silence const&) = delete;
  silence& operator=(silence const&) = delete;
};

struct named_store {
  char const* name;
  char const* url;
};

class EachNamedStore : public testing::TestWithParam<named_store> {};

// As a process that ends would: from another thread, to see that it ends before the look-up does.
TEST_P(EachNamedStore, FailsByItsDeadlineAndClosesWhileItsNameIsLookedUp) {
  names().hang();
  std::string const url = GetParam().url;
  std::optional<store> opened = open_store(url);
  std::string why;
  // On a busy machine the first deadline may pass before anybody is asked.
  ASSERT_TRUE(eventually([&] {
    why = failure_of(*opened);
    return names().asking() > 0;
  }));
  auto const scheme = url.substr(0, url.find(':'));
  EXPECT_NE(why.find(scheme), std::string::npos) << why;
  std::atomic<bool> closed = false;
  std::thread closing([&] {
    opened.reset();
    closed = true;
  });
  EXPECT_TRUE(eventually([&] { return closed.load(); }));
  EXPECT_GT(names().asking(), 0);
  names().answer();
  closing.join();
  EXPECT_TRUE(eventually([] { return names().asking() == 0; }));
}

INSTANTIATE_TEST_SUITE_P(
    Stores, EachNamedStore,
    testing::Values(named_store{"redis", "redis://redis.example:1?timeout=300ms"},
                    named_store{"rediss", "rediss://rediss.example:1?timeout=300ms"},
                    named_store{"sentinel", "redis+sentinel://s.example:1/main?timeout=300ms"},
                    named_store{"cluster", "redis+cluster://c.example:1?timeout=300ms"},
                    named_store{"redlock",
                                "redlock://a.example:1,b.example:1,d.example:1?timeout=300ms"},
                    named_store{"etcd", "etcd://etcd.example:1?timeout=300ms"},
                    named_store{"postgres", "postgres://u@postgres.example:1/d?timeout=300ms"},
                    named_store{"mysql", "mysql://u@mysql.example:1/d?timeout=300ms"},
                    named_store{"zookeeper", "zk://zk.example:1?timeout=300ms"}),
    [](auto const& one) { return one.param.name; });

TEST(LookUp, AnEtcdMemberWhoseNameHangsCostsNoMoreThanItsShareOfTheTime) {
  silence const here;
  auto const at = etcd_server::shared().url();
  auto const address = at.substr(at.find("127.0.0.1"));
  auto const where = open_store("etcd://hangs.example:1," + address);
  EXPECT_EQ(failure_of(where), "acquired");
}

TEST(LookUp, ARedisServerAtTheSecondAddressOfItsNameIsFound) {
  redis_server server;
  auto const where = open_store("redis://second.example:" + std::to_string(server.port()));
  EXPECT_EQ(failure_of(where), "acquired");
}

TEST(LookUp, AKnownServerIsFoundAgainWhileTheNameServerIsSilent) {
  redis_server server;
  relay between(server.port());
  auto const where =
      open_store("redis://known.example:" + std::to_string(between.port()) + "?timeout=2s");
  ASSERT_EQ(failure_of(where), "acquired");
  silence const here;
  between.cut_all();
  ASSERT_TRUE(eventually([] { return names().asking() > 0; }));
  EXPECT_TRUE(eventually([&] { return failure_of(where) == "acquired"; }));
  EXPECT_GT(names().asking(), 0);
}

TEST(LookUp, NamesBeyondTheMostWaitInALineAndAreFoundLater) {
  std::vector<std::thread> all;
  std::atomic<std::size_t> found = 0;
  {
    silence const here;
    for (std::size_t i = 0; i < stores::max_look_ups + 8; ++i) {
      all.emplace_back([&found, i] {
        auto const host = std::to_string(i) + ".example";
        auto const answer = stores::look_up_here(host, clock::now() + patience, -1);
        found += answer.all.empty() ? 0 : 1;
      });
    }
    auto const most = static_cast<int>(stores::max_look_ups);
    EXPECT_TRUE(eventually([&] { return names().asking() == most; }));
  }
  for (auto& each : all) each.join();
  EXPECT_EQ(found, stores::max_look_ups + 8);
}

// ---- a process that can have no more threads

struct no_threads {
  no_threads() { no_thread_is_left = true; }
  ~no_threads() { no_thread_is_left = false; }
  no_threads(no_threads const&) = delete;
  no_threads& operator=(no_threads const&) = delete;
};

bool takes_signals() {
  sigset_t blocked;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return ::sigismember(&blocked, SIGTERM) == 0;
}

TEST(NoThreadLeft, AnAddressNeedsNoneAndANameSaysWhy) {
  no_threads const here;
  EXPECT_EQ(stores::look_up_here("::1", clock::now() + patience, -1).all.size(), 1u);
  // Threads of the tests before, which are about to end, may still take a name or two.
  stores::found_addresses found;
  auto const has_none = [&, i = 0]() mutable {
    auto const host = "unthreaded-" + std::to_string(++i) + ".example";
    found = stores::look_up_here(host, clock::now() + patience, -1);
    return found.error.find("no thread is left") != std::string::npos;
  };
  EXPECT_TRUE(eventually(has_none)) << found.error;
}

TEST(NoThreadLeft, AJobWaitsForAThreadAndTheSignalsAreNotLost) {
  stores::worker_threads pool("pool", 2);
  std::atomic<int> done = 0;
  auto const job = [&] { ++done; };
  {
    no_threads const here;
    EXPECT_FALSE(pool.add(job));
    EXPECT_TRUE(takes_signals());
  }
  EXPECT_TRUE(pool.add(job));
  EXPECT_TRUE(eventually([&] { return done == 2; }));
}

TEST(NoThreadLeft, AMysqlStoreAnswersByTheDeadlineAndTheProcessLives) {
  auto const where =
      open_store("mysql://u@127.0.0.1:" + std::to_string(dead_port()) + "/d?timeout=300ms");
  no_threads const here;
  auto const why = failure_of(where);
  EXPECT_NE(why.find("mysql"), std::string::npos) << why;
}

TEST(NoThreadLeft, ASqliteStoreIsNotOpenedAndTheSignalsAreNotLost) {
  temp_dir const folder;
  asio::io_context io;
  no_threads const here;
  auto const opened = try_open_store("sqlite://" + folder.path().string() + "/locks",
                                     {.executor = io.get_executor()});
  EXPECT_FALSE(opened.has_value());
  EXPECT_TRUE(takes_signals());
}

}  // namespace
}  // namespace herdlock_test
