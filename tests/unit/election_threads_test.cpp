// Work that wants a thread of its own, in a process that can have no more of them. The program has
// a pthread_create of its own.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cerrno>
#include <future>
#include <herdlock/election.hpp>
#include <optional>
#include <system_error>

#include "support/as_result.hpp"

namespace {
std::atomic<bool> no_thread_is_left{false};
}  // namespace

extern "C" [[gnu::visibility("default")]] int pthread_create(pthread_t* made,
                                                             pthread_attr_t const* how,
                                                             void* (*body)(void*), void* with) {
  static auto const real =
      reinterpret_cast<decltype(pthread_create)*>(::dlsym(RTLD_NEXT, "pthread_create"));
  return no_thread_is_left ? EAGAIN : real(made, how, body, with);
}

namespace {

using namespace herdlock;
using namespace std::chrono_literals;

// Long enough for a loaded machine; who passes never waits so long.
constexpr auto patience = 20s;

bool comes(auto& future) { return future.wait_for(patience) == std::future_status::ready; }

bool is_lack_of_a_thread(std::exception_ptr const& thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (std::system_error const& why) {
    return why.code().value() == EAGAIN;
  }
  return false;
}

class ElectionThreads : public testing::Test {
 protected:
  ~ElectionThreads() override { no_thread_is_left = false; }

  election_options options(std::string candidate) {
    election_options asked;
    asked.ttl = 1min;  // who waited for the end of the term would come too late
    asked.back_off_first = 1ms;
    asked.back_off_most = 2ms;
    asked.candidate = std::move(candidate);
    return asked;
  }

  // The store has its thread before there are no more.
  store const opened = open_store("memory:");
};

TEST_F(ElectionThreads, WithoutAThreadTheTermEndsAndTheNextOneHasIt) {
  std::promise<std::uint64_t> works;
  std::atomic<std::uint64_t> failed_term{0};
  auto const work = [&](election_term& term) { works.set_value(term.number().value); };
  auto asked = options("a");
  asked.on_transition = [&](election_transition const& what) {
    if (what.event != election_event::finished || !is_lack_of_a_thread(what.thrown)) return;
    failed_term = what.term.value;
    no_thread_is_left = false;
  };
  election job(opened, "job", {.start_work = in_thread(work)}, asked);
  no_thread_is_left = true;
  auto campaign = job.async_campaign(herdlock_test::as_result(asio::use_future));
  auto number = works.get_future();
  ASSERT_TRUE(comes(number)) << "nobody works";
  EXPECT_GT(failed_term.load(), 0u) << "it is told";
  EXPECT_GT(number.get(), failed_term.load());
  job.close();
  ASSERT_TRUE(comes(campaign));
  EXPECT_TRUE(campaign.get());
}

// Where the executor is the program's, nothing is thrown into its loop.
TEST_F(ElectionThreads, AProgramsOwnLoopIsNotThrownInto) {
  asio::io_context io;
  store const on_it = open_store("memory:", {.executor = io.get_executor()});
  auto asked = options("a");
  asked.on_transition = [&](election_transition const& what) {
    if (what.event == election_event::finished) no_thread_is_left = false;
  };
  std::optional<election> job;
  auto const work = [&](election_term& term) { job->close(), static_cast<void>(term); };
  job.emplace(on_it, "job", election_services{.start_work = in_thread(work)}, asked);
  no_thread_is_left = true;
  std::optional<failure> ended;
  job->async_campaign([&](failure const& why) { ended = why; });
  auto const end = std::chrono::steady_clock::now() + patience;
  EXPECT_NO_THROW({
    while (!ended && std::chrono::steady_clock::now() < end) io.run_one_for(100ms);
  });
  ASSERT_TRUE(ended);
  EXPECT_FALSE(*ended) << ended->message;
  EXPECT_FALSE(no_thread_is_left);
}

TEST_F(ElectionThreads, WhoHasAThreadLeadsInsteadOfTheOneWithout) {
  std::promise<void> leads;
  auto const in_a_coroutine = [&](election_term& term) -> asio::awaitable<void> {
    leads.set_value();
    co_await term.until_stop();
  };
  election without(opened, "job", {.start_work = in_thread([](election_term&) {})}, options("a"));
  election with(opened, "job", {.start_work = in_a_coroutine}, options("b"));
  no_thread_is_left = true;
  auto first = without.async_campaign(herdlock_test::as_result(asio::use_future));
  auto second = with.async_campaign(herdlock_test::as_result(asio::use_future));
  auto leading = leads.get_future();
  EXPECT_TRUE(comes(leading));
  without.close();
  with.close();
  ASSERT_TRUE(comes(first));
  ASSERT_TRUE(comes(second));
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());
}

}  // namespace
