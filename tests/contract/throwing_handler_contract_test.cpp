// Handlers that throw, on a strand, which lets that through to whoever called them: it leaves the
// executor's run(), as everywhere in Asio, and nobody else is concerned.
#include <boost/asio/strand.hpp>

#include "fixture.hpp"

namespace herdlock_test {
namespace {

struct thrown {};

class throwing_handler_contract : public store_contract {
 protected:
  ~throwing_handler_contract() override {
    mine_ = {};
    run_until([this] { return io_.poll() == 0 && io_.stopped(); });
  }

  template <class T>
  struct told {
    owner_token who;
    result<T> outcome;
  };

  // Each handler tells `to`, and throws.
  template <class T, class Start>
  void call(std::vector<told<T>>& to, owner_token const& who, Start begin) {
    asio::post(strand_, [this, &to, who, begin] {
      begin(*mine_.leases, handler<T>([&to, who](result<T> outcome) {
        to.push_back({who, std::move(outcome)});
        throw thrown{};
      }));
    });
  }
  void acquire(resource const& name, owner_token const& owner) {
    call(acquired, owner, [=](lease_store& leases, auto done) {
      leases.acquire({name, owner, 1min, 1min}, std::move(done));
    });
  }
  void release(resource const& name, owner_token const& owner) {
    call(released, owner,
         [=](lease_store& leases, auto done) { leases.release(name, owner, std::move(done)); });
  }

  bool run_until(std::function<bool()> const& condition) {
    auto const end = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < end) {
      try {
        if (condition()) return true;
        io_.restart();
        io_.run_one_for(5ms);
      } catch (thrown const&) {
        ++caught;
      }
    }
    return false;
  }

  std::vector<told<acquire_reply>> acquired;
  std::vector<told<release_reply>> released;
  std::size_t caught = 0;

 private:
  asio::io_context io_;
  asio::strand<asio::io_context::executor_type> strand_ = asio::make_strand(io_);
  backend mine_ = GetParam().open(store_url::parse(url()).value(), strand_).value();
};

INSTANTIATE_TEST_SUITE_P(stores, throwing_handler_contract, testing::ValuesIn(all_stores()),
                         case_name);

TEST_P(throwing_handler_contract, KeepsNobodyFromBeingTold) {
  constexpr std::size_t many = 10;
  for (std::size_t i = 0; i < many; ++i) acquire(resource("a:" + std::to_string(i)), alice);
  ASSERT_TRUE(run_until([&] { return acquired.size() == many; }));
  for (auto const& each : acquired) EXPECT_TRUE(is<grant>(each.outcome));
  for (std::size_t i = 0; i < many; ++i) release(resource("a:" + std::to_string(i)), alice);
  ASSERT_TRUE(run_until([&] { return released.size() == many; }));
  for (auto const& each : released) EXPECT_EQ(each.outcome.value(), release_reply::released);
  // What was thrown leaves in an event of its own.
  EXPECT_TRUE(run_until([&] { return caught >= 2 * many; }));
  EXPECT_EQ(caught, 2 * many);
}

// Whatever becomes of a lease in a test that stands still for seconds: all are told.
TEST_P(throwing_handler_contract, WaitersFollowEachOther) {
  if (!GetParam().queues) return;
  resource const stock("stock:1");
  acquire(stock, alice);
  ASSERT_TRUE(run_until([&] { return acquired.size() == 1; }));
  acquire(stock, bob);
  acquire(stock, carol);
  release(stock, alice);
  for (std::size_t turn = 2; turn <= 3; ++turn) {
    ASSERT_TRUE(run_until([&] { return acquired.size() >= turn && released.size() >= turn - 1; }));
    EXPECT_TRUE(is<grant>(acquired.back().outcome));
    release(stock, acquired.back().who);
  }
  ASSERT_TRUE(run_until([&] { return released.size() == 3; }));
  for (auto const& each : released) EXPECT_TRUE(each.outcome.has_value());
}

}  // namespace
}  // namespace herdlock_test
