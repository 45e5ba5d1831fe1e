// Many deadlines over one timer.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <functional>
#include <stdexcept>
#include <vector>

#include "stores/common/shared_timer.hpp"

namespace herdlock_test {
namespace {

using namespace herdlock;
using namespace std::chrono_literals;

struct alarm final : algo::timed<herdlock::clock> {
  explicit alarm(std::function<void()> what) : call(std::move(what)) {}
  void on_due(herdlock::clock::time_point) override { call(); }
  std::function<void()> call;
};

class shared_timer_test : public testing::Test {
 protected:
  alarm ringing(int number) {
    return alarm([this, number] { rung.push_back(number); });
  }
  // It ends by itself once nothing is left that is due.
  void run() {
    io.restart();
    io.run_for(20s);
    EXPECT_TRUE(io.stopped());
  }

  asio::io_context io;
  std::shared_ptr<stores::shared_timer<>> const queue =
      std::make_shared<stores::shared_timer<>>(asio::make_strand(io));
  clock::time_point const now = clock::now();
  std::vector<int> rung;
};

TEST_F(shared_timer_test, EachIsCalledInTheOrderOfItsTime) {
  auto first = ringing(1), second = ringing(2), third = ringing(3);
  queue->add(third, now + 15ms);
  queue->add(first, now + 5ms);
  queue->add(second, now + 10ms);
  run();
  EXPECT_EQ(rung, (std::vector{1, 2, 3}));
  EXPECT_FALSE(first.scheduled());
}

TEST_F(shared_timer_test, OfTheSameTimeTheOneThatWasAddedFirstIsFirst) {
  auto first = ringing(1), second = ringing(2), later = ringing(3);
  queue->add(later, now + 6ms);
  queue->add(first, now + 5ms);
  queue->add(second, now + 5ms);
  run();
  EXPECT_EQ(rung, (std::vector{1, 2, 3}));
}

TEST_F(shared_timer_test, OneThatIsAddedAgainIsMoved) {
  auto moved = ringing(1), other = ringing(2);
  queue->add(moved, now + 5ms);
  queue->add(other, now + 10ms);
  queue->add(moved, now + 15ms);
  run();
  EXPECT_EQ(rung, (std::vector{2, 1}));
}

TEST_F(shared_timer_test, AddedNoLaterItIsMovedToASoonerTimeOnly) {
  auto one = ringing(1), other = ringing(2);
  queue->add_no_later(other, now + 10ms);
  queue->add_no_later(one, now + 5ms);
  queue->add_no_later(one, now + 1h);
  queue->add_no_later(other, now + 2ms);
  run();
  EXPECT_EQ(rung, (std::vector{2, 1}));
}

TEST_F(shared_timer_test, WithoutEntriesItDoesNotKeepTheContextRunning) {
  auto one = ringing(1), gone = ringing(2);
  queue->add(one, now + 1h);
  queue->remove(one);
  queue->remove(one);
  queue->add(gone, now + 1h);
  queue->remove(gone);
  run();
  EXPECT_TRUE(rung.empty());
}

TEST_F(shared_timer_test, OneThatIsDestroyedIsForgotten) {
  auto stays = ringing(2);
  {
    auto goes = ringing(1);
    queue->add(goes, now + 5ms);
    queue->add(stays, now + 10ms);
  }
  run();
  EXPECT_EQ(rung, std::vector{2});
}

TEST_F(shared_timer_test, OneThatIsCalledMayBeAddedAgainAndRemoveOthers) {
  auto other = ringing(9);
  int calls = 0;
  alarm again([&] {
    rung.push_back(++calls);
    queue->remove(other);
    if (calls < 3) queue->add(again, clock::now() + 1ms);
  });
  queue->add(again, now + 5ms);
  queue->add(other, now + 5ms);
  run();
  EXPECT_EQ(rung, (std::vector{1, 2, 3}));
}

TEST_F(shared_timer_test, OneThatThrowsKeepsNobodyFromBeingCalled) {
  alarm throwing([] { throw std::runtime_error("from an alarm"); });
  auto other = ringing(1), later = ringing(2);
  queue->add(throwing, now + 5ms);
  queue->add(other, now + 5ms);
  queue->add(later, now + 10ms);
  EXPECT_THROW(io.run_for(20s), std::runtime_error);
  run();
  EXPECT_EQ(rung, (std::vector{1, 2}));
}

TEST_F(shared_timer_test, ClosedItCallsNobody) {
  auto before = ringing(1), after = ringing(2);
  queue->add(before, now + 5ms);
  queue->close();
  queue->add(after, now + 5ms);
  run();
  EXPECT_TRUE(rung.empty());
  EXPECT_FALSE(before.scheduled());
}

// Whoever is called may be the one that lets the queue go.
TEST_F(shared_timer_test, OneThatIsCalledMayCloseIt) {
  auto other = ringing(1);
  alarm closing([&] { queue->close(); });
  queue->add(closing, now + 5ms);
  queue->add(other, now + 5ms);
  run();
  EXPECT_TRUE(rung.empty());
}

}  // namespace
}  // namespace herdlock_test
