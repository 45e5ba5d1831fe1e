// When what is held is renewed over a new connection.
#include "runtime/lease_roll.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace herdlock::runtime {
namespace {

using namespace std::chrono_literals;

class one_lease : public enrolled {
 public:
  explicit one_lease(milliseconds ttl) : ttl_(ttl) {}
  resource const& name() const override { return name_; }
  owner_token const& owner() const override { return owner_; }
  milliseconds ttl() const override { return ttl_; }
  void on_session_end(lease_end const&) override {}
  void renew_by(clock::time_point at) override { planned.push_back(at); }
  void on_closing() override {}

  std::vector<clock::time_point> planned;

 private:
  resource const name_{"orders/42"};
  owner_token const owner_ = owner_token::generate();
  milliseconds const ttl_;
};

clock::time_point const start{1h};

TEST(LeaseRoll, AllAreRenewedTogetherWithinTheWindowOfTheShortest) {
  lease_roll roll;
  one_lease first(1h);
  one_lease second(4s);
  roll.enter(first);
  roll.enter(second);
  roll.renew_all(start, 0.5);
  ASSERT_EQ(first.planned.size(), 1u);
  EXPECT_EQ(first.planned, second.planned);
  EXPECT_EQ(first.planned.front(), start + 200ms);
  roll.close();
}

// Whoever is granted meanwhile is told of the next connection all the same.
TEST(LeaseRoll, OneThatCameBehindTheFirstNewsIsRenewedWithTheOthers) {
  lease_roll roll;
  roll.renew_all(start, 0.5);
  one_lease early(1h);
  one_lease late(1h);
  roll.enter(early);
  roll.renew_all(start, 0.5);
  roll.enter(late);
  roll.renew_all(start + 1ms, 0.9);
  ASSERT_EQ(late.planned.size(), 1u);
  EXPECT_EQ(late.planned.front(), start + 500ms);
  EXPECT_EQ(early.planned.back(), start + 500ms);
  roll.close();
}

// A server that accepts connections and cuts them, or one that refuses each renewal.
TEST(LeaseRoll, AConnectionThatComesAndGoesIsFollowedLaterEachTime) {
  lease_roll roll;
  one_lease held(1h);
  roll.enter(held);
  roll.renew_all(start, 0.5);
  roll.renew_all(start + 400ms, 0.0);
  ASSERT_EQ(held.planned.size(), 2u);
  EXPECT_EQ(held.planned.front(), held.planned.back()) << "the first is still to come";
  auto pause = 1ms;
  auto last = held.planned.back();
  for (int i = 0; i < 4; ++i) {
    roll.renew_all(last + 1ms, 0.0);
    auto const longer = std::chrono::duration_cast<milliseconds>(held.planned.back() - last);
    EXPECT_GE(longer, 2 * pause);
    pause = longer;
    last = held.planned.back();
  }
  roll.renew_all(last + 2min, 0.5);
  EXPECT_EQ(held.planned.back(), last + 2min + 500ms) << "that was long ago";
  roll.close();
}

}  // namespace
}  // namespace herdlock::runtime
