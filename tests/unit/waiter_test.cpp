// Those who wait for a resource, and what a store remembers of names: without a store.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "stores/common/name_hint.hpp"
#include "stores/common/waiter.hpp"

namespace herdlock_test {
namespace {

using namespace herdlock;
using namespace std::chrono_literals;

class waiter_test : public testing::Test {
 protected:
  struct queue final : stores::waiter_queue {
    void on_left(stores::waiter& who) override { left.push_back(&who); }
    std::vector<stores::waiter*> left;
  };

  std::shared_ptr<stores::waiter> make(milliseconds wait) {
    handler<acquire_reply> done([this](result<acquire_reply> outcome) { answer = outcome; });
    auto one = std::make_shared<stores::waiter>(
        pending, stores::order<acquire_reply>{"acquire", "stock", std::move(done)},
        acquire_request{resource("stock"), owner_token::generate(), 1min, wait}, 1h);
    EXPECT_TRUE(one->admit());
    one->queue = line;
    one->at_the_end([this, raw = one.get()] {
      ++ends;
      raw->complete(acquire_reply(busy{}));
    });
    return one;
  }

  asio::io_context io;
  std::shared_ptr<stores::pending_operations> const pending =
      std::make_shared<stores::pending_operations>(io.get_executor(), stores::pending_settings{});
  std::shared_ptr<queue> const line = std::make_shared<queue>();
  std::optional<result<acquire_reply>> answer;
  int ends = 0;
};

TEST_F(waiter_test, TheEndOfAWaitComesOnceAndLongBeforeTheWaiterIsLate) {
  auto const one = make(1ms);
  io.run();
  EXPECT_EQ(ends, 1);
  ASSERT_TRUE(answer.has_value());
  EXPECT_TRUE(std::holds_alternative<busy>(answer->value()));
  EXPECT_EQ(line->left, std::vector{one.get()});
}

// Its timer would keep the context running, and the waiter alive.
TEST_F(waiter_test, OneThatIsCompletedLeavesItsQueueAndWaitsForNothingMore) {
  auto one = make(1h);
  one->complete(acquire_reply(busy{}));
  EXPECT_EQ(line->left, std::vector{one.get()});
  io.poll();
  EXPECT_TRUE(io.stopped());
  EXPECT_EQ(ends, 0);
  std::weak_ptr const gone = one;
  one.reset();
  EXPECT_TRUE(gone.expired());
}

TEST_F(waiter_test, OneThatDoesNotWaitHasNoEndOfItsWait) {
  auto const one = make(0ms);
  io.poll();
  EXPECT_EQ(ends, 0);
  EXPECT_FALSE(one->completed());
}

TEST_F(waiter_test, OneWhoseQueueHasGoneCompletesAllTheSame) {
  auto const one = make(1h);
  one->queue.reset();
  pending->close();
  io.run();
  EXPECT_TRUE(answer->error() == errc::canceled);
  EXPECT_TRUE(line->left.empty());
}

TEST(name_hint, TellsWhatWasNotedLastForTheName) {
  stores::name_hint<64> hint;
  EXPECT_FALSE(hint["stock"]);
  hint["stock"] = true;
  EXPECT_TRUE(hint["stock"]);
  hint["stock"] = false;
  EXPECT_FALSE(hint["stock"]);
}

}  // namespace
}  // namespace herdlock_test
