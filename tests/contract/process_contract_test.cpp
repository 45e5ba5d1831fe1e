// What becomes of leases and threads when the process ends, or forks.
#include <sys/wait.h>
#include <unistd.h>

#include <herdlock/herdlock.hpp>
#include <optional>
#include <string>
#include <support/child_process.hpp>
#include <tuple>
#include <vector>

#include "fixture.hpp"
#ifdef HERDLOCK_REDIS
#include <support/redis_server.hpp>
#endif
#ifdef HERDLOCK_ETCD
#include <support/etcd_server.hpp>
#endif

namespace herdlock_test {
namespace {

// What is linked for TLS ends with the process, too. Opened by URL alone.
std::vector<store_case> stores_over_tls() {
  std::vector<store_case> stores;
#ifdef HERDLOCK_REDIS
  stores.push_back({.name = "rediss",
                    .url =
                        [](auto const&) {
                          static redis_server server({.tls = redis_tls::on});
                          server.flush();
                          return server.tls_url();
                        },
                    .open = nullptr});
#endif
#ifdef HERDLOCK_ETCD
  stores.push_back({.name = "etcds",
                    .url =
                        [](auto const&) {
                          static etcd_server server({}, etcd_tls::on);
                          return "etcds://127.0.0.1:" + std::to_string(server.port()) +
                                 "?cafile=" + server.tls().authority.string();
                        },
                    .open = nullptr,
                    .keeps_values = false});
#endif
  return stores;
}

class process_contract : public testing::TestWithParam<store_case> {
 protected:
  exit_status end_of(std::string const& way, milliseconds ttl) {
    std::vector<std::string> argv{ENDING_PROCESS, url_, name, std::to_string(ttl.count()), way};
    if (GetParam().keeps_values) argv.push_back("values");
    child_options how{.argv = std::move(argv)};
    // What a child leaves to its parent is seen as leaked on stacks that the child has not.
    if (way == "fork") how.env = {{"LSAN_OPTIONS", "detect_leaks=0"}};
    child_process process(std::move(how));
    auto const ended = process.wait();
    said_ = process.errors();
    return ended.value_or(exit_status{});
  }

  // Those of a store in memory go with the process.
  bool is_free(std::string const& what) {
    return !lock(open_store(url_), what).inspect().has_value();
  }

  void expect_all_given_back(std::string const& way) {
    auto const ended = end_of(way, 10min);
    EXPECT_EQ(ended.code, 0) << "signal " << ended.signal.value_or(0) << "; " << said_;
    EXPECT_TRUE(is_free(name)) << "the lease";
    EXPECT_TRUE(is_free(name + "-job")) << "the term";
  }

  std::string const name = "only-one-of-me";
  temp_dir scratch_;
  std::string const url_ = GetParam().url(scratch_.path());
  std::string said_;
};

// B27: each object in static storage, made before anything of the library was used.
class process_end_contract : public process_contract {};
INSTANTIATE_TEST_SUITE_P(stores, process_end_contract, testing::ValuesIn(all_stores()), case_name);
INSTANTIATE_TEST_SUITE_P(over_tls, process_end_contract, testing::ValuesIn(stores_over_tls()),
                         case_name);

TEST_P(process_end_contract, StaticObjectsGiveBackAtTheEndOfMain) {
  expect_all_given_back("return");
}
TEST_P(process_end_contract, StaticObjectsGiveBackAtExit) { expect_all_given_back("exit"); }
TEST_P(process_end_contract, StaticObjectsGiveBackAtExitInAThread) {
  expect_all_given_back("exit_in_thread");
}
TEST_P(process_end_contract, ObjectsOfTheThreadGiveBackAtTheEndOfMain) {
  expect_all_given_back("thread_local");
}
TEST_P(process_end_contract, AChildThatExitsLeavesThemToItsParent) {
  expect_all_given_back("fork");
}

// Nothing is destroyed: what is held ends with its ttl, or with the connection.
class process_stop_contract : public process_contract {};
INSTANTIATE_TEST_SUITE_P(stores, process_stop_contract, testing::ValuesIn(all_stores()), case_name);
INSTANTIATE_TEST_SUITE_P(over_tls, process_stop_contract, testing::ValuesIn(stores_over_tls()),
                         case_name);

TEST_P(process_stop_contract, AQuickExitLeavesTheLeaseToItsTtl) {
  auto const ended = end_of("quick_exit", 2s);
  EXPECT_EQ(ended.code, 0) << "signal " << ended.signal.value_or(0) << "; " << said_;
  EXPECT_TRUE(lock(open_store(url_), name).acquire({.ttl = 10s, .wait = patience}));
}

// Nothing runs on that thread any more.
TEST_P(process_stop_contract, AnExitOnTheStoresThreadLeavesTheLeaseToItsTtl) {
  auto const ended = end_of("exit_on_store", 2s);
  EXPECT_EQ(ended.code, 0) << "signal " << ended.signal.value_or(0) << "; " << said_;
  EXPECT_TRUE(lock(open_store(url_), name).acquire({.ttl = 10s, .wait = patience}));
}

TEST_P(process_stop_contract, AnExitInTheMiddleOfCallsHurtsNobody) {
  auto const ended = end_of("busy", 10min);
  EXPECT_EQ(ended.code, 0) << "signal " << ended.signal.value_or(0) << "; " << said_;
  EXPECT_TRUE(is_free(name)) << "the static object's lease is given back all the same";
}

// B28: the threads of a store are the parent's alone.
class process_fork_contract : public process_contract {
 protected:
  template <class Call>
  static bool is_refused(Call call) {
    try {
      call();
    } catch (error const& e) {
      return e.code() == make_error_code(errc::forked);
    }
    return false;
  }
};
INSTANTIATE_TEST_SUITE_P(stores, process_fork_contract, testing::ValuesIn(all_stores()), case_name);

TEST_P(process_fork_contract, AChildIsRefusedAndLeavesTheLeaseToItsParent) {
  std::optional<store> opened = open_store(url_);
  std::optional<lock> where(std::in_place, *opened, name);
  auto held = where->try_acquire({.ttl = 10min});
  ASSERT_TRUE(held);
  pid_t const child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(20);  // a call that waits for ever ends the child, not the test
    int wrong = 0;
    if (held->valid()) wrong |= 1;
    if (!is_refused([&] { std::ignore = where->try_acquire(); })) wrong |= 2;
    if (!is_refused([&] { std::ignore = held->release(); })) wrong |= 4;
    if (!is_refused([&] { std::ignore = opened->list(); })) wrong |= 8;
    held.reset();
    where.reset();
    opened.reset();
    ::_exit(wrong);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(held->valid());
  EXPECT_EQ(held->renew(), renew_reply::renewed) << "the parent's connection is as it was";
  EXPECT_EQ(held->release(), release_reply::released);
}

}  // namespace
}  // namespace herdlock_test
