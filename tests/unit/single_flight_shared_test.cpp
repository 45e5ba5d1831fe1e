// What single_flight tells a call of the others: how many have the value, and whose operation ran.
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <thread>

#include "single_flight_fixture.hpp"
#include "support/eventually.hpp"

namespace herdlock {
namespace {

using herdlock_test::eventually;

struct told_of_others {
  std::exception_ptr error;
  flight_answer<std::string> answer;
};

class single_flight_shared : public single_flight_async {
 protected:
  auto tell() {
    return asio::bind_executor(io,
                               [this](std::exception_ptr error, flight_answer<std::string> answer) {
                                 all.push_back({error, std::move(answer)});
                               });
  }
  auto tell(asio::cancellation_signal& signal) {
    return asio::bind_cancellation_slot(signal.slot(), tell());
  }

  std::vector<told_of_others> all;
};

TEST_F(single_flight_shared, ACallAloneSharesWithNobody) {
  auto quick = []() -> asio::awaitable<std::string> { co_return "quick"; };
  flights.async_run_and_tell("a", quick, tell());
  io.run();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].answer.value, "quick");
  EXPECT_EQ(all[0].answer.callers, 1u);
  EXPECT_EQ(all[0].answer.part, flight_part::ran);
  EXPECT_FALSE(all[0].answer.is_shared());
}

// golang/go#74880: `shared` is taken for "another made it". It is true for the one who ran it, too,
// so the two are told apart.
TEST_F(single_flight_shared, WhoRanItAndWhoJoinedAreToldApart) {
  for (int i = 0; i < 3; ++i) {
    flights.async_run_and_tell(
        "a", [this] { return load.pass("value"); }, tell());
  }
  io.poll();
  load.open();
  io.run();
  ASSERT_EQ(all.size(), 3u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].answer.value, "value");
    EXPECT_EQ(all[i].answer.callers, 3u);
    EXPECT_TRUE(all[i].answer.is_shared());
    EXPECT_EQ(all[i].answer.part, i == 0 ? flight_part::ran : flight_part::joined);
  }
}

// The number is one for all, and is taken once: when the operation has ended.
TEST_F(single_flight_shared, ACallThatLeftIsNotCounted) {
  asio::cancellation_signal signal;
  flights.async_run_and_tell(
      "a", [this] { return load.pass("value"); }, tell());
  flights.async_run_and_tell(
      "a", [this] { return load.pass("value"); }, tell(signal));
  io.poll();
  signal.emit(asio::cancellation_type::terminal);
  load.open();
  io.run();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].error);
  EXPECT_FALSE(all[1].error);
  EXPECT_EQ(all[1].answer.callers, 1u);
}

// Its operation may use what it was given, so it stays, and gets the value as well.
TEST_F(single_flight_shared, ACallThatLeftAndWhoseOperationRunsIsCounted) {
  single_flight<std::string> stopping(io.get_executor());
  asio::cancellation_signal signal;
  stopping.async_run_and_tell(
      "a", [this] { return load.pass("value"); }, tell(signal));
  stopping.async_run_and_tell(
      "a", [this] { return load.pass("value"); }, tell());
  io.poll();
  signal.emit(asio::cancellation_type::terminal);
  load.open();
  io.run();
  ASSERT_EQ(all.size(), 2u);
  for (auto const& one : all) {
    EXPECT_FALSE(one.error);
    EXPECT_EQ(one.answer.callers, 2u);
  }
}

TEST_F(single_flight_shared, AnExceptionComesAsItIs) {
  flights.async_run_and_tell(
      "a", [this] { return load.fail("broken"); }, tell());
  io.poll();
  load.open();
  io.run();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_THROW(std::rethrow_exception(all[0].error), std::runtime_error);
}

TEST(single_flight, AThreadIsToldOfACoroutineThatItJoined) {
  asio::thread_pool pool(1);
  gate load(pool.get_executor());
  single_flight<std::string> flights(pool.get_executor());
  auto async = flights.async_run_and_tell(
      "a", [&] { return load.pass("value"); }, asio::use_future);
  flight_answer<std::string> blocked;
  std::thread thread(
      [&] { blocked = flights.run_and_tell("a", [] { return std::string("other"); }); });
  ASSERT_TRUE(eventually([&] { return flights.waiting("a") == 2 && load.begun() == 1; }));
  asio::post(pool, [&] { load.open(); });
  EXPECT_EQ(async.get().part, flight_part::ran);
  thread.join();
  EXPECT_EQ(blocked.value, "value");
  EXPECT_EQ(blocked.part, flight_part::joined);
  EXPECT_EQ(blocked.callers, 2u);
  pool.join();
}

TEST(single_flight, AThreadThatRunsItselfIsToldSo) {
  single_flight<std::string> flights;
  auto const got = flights.run_and_tell("a", [] { return std::string("mine"); });
  EXPECT_EQ(got.value, "mine");
  EXPECT_EQ(got.part, flight_part::ran);
  EXPECT_FALSE(got.is_shared());
}

}  // namespace
}  // namespace herdlock
