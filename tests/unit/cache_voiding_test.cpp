// put and invalidate against loads of the same cache, with the locks in another store (S6): what
// was put is not overwritten by a load that began before.
#include "cache_fixture.hpp"
#include "scripted_lease_store.hpp"
#include "support/as_result.hpp"

namespace herdlock::scripted {
namespace {

class CacheVoiding : public CacheTest {
 protected:
  CacheVoiding() {
    auto make = [&](asio::any_io_executor executor) -> result<backend> {
      leases = std::make_shared<scripted_lease_store>(executor);
      return backend{leases, nullptr, {}, "scripted locks:"};
    };
    locks = store::over(make, {.executor = io.get_executor()}).value();
    strings.emplace(*opened, *locks);
    settle();
  }
  ~CacheVoiding() override {
    loader.let_go();
    answer_locks();
    strings.reset();
    answer_locks();
    locks.reset();
    settle();
  }

  /// Grants and releases whatever is asked for.
  void answer_locks() {
    settle();
    while (!leases->acquires.empty() || !leases->releases.empty()) {
      if (!leases->acquires.empty()) leases->grant_next(++fencing);
      if (!leases->releases.empty()) leases->release_next(release_reply::released);
      settle();
    }
  }
  void put_newer() {
    strings->async_put(cache_key("k"), "newer",
                       herdlock_test::as_result([&](result<void> r) { put = std::move(r); }));
    settle();
  }

  std::shared_ptr<scripted_lease_store> leases;
  std::optional<store> locks;
  std::optional<result<void>> put;
  std::uint64_t fencing = 0;
};

TEST_F(CacheVoiding, APutDuringTheClaimIsNotOverwritten) {
  script->script = [](std::string const& asked, std::size_t number) {
    return asked == "put" && number < 4 ? fault::delay : fault::none;
  };
  call c;
  load(c);
  settle();
  ASSERT_EQ(leases->acquires.size(), 1u);
  put_newer();
  answer_locks();
  ASSERT_EQ(loader.runs, 1) << "claimed anew, since nothing was there";
  script->release_hanging();
  settle();
  ASSERT_TRUE(put && put->has_value());
  EXPECT_TRUE(loader.last->stop().stop_requested());
  loader.let_go();
  answer_locks();
  if (!leases->renews.empty()) leases->renew_next(renew_reply::renewed);
  answer_locks();
  EXPECT_EQ(c.value(), "loaded");
  EXPECT_EQ(script->entries["k"].value, cache_value("newer"));
}

TEST_F(CacheVoiding, AClaimGrantedAfterAPutFindsIt) {
  call c;
  load(c);
  settle();
  put_newer();
  answer_locks();
  EXPECT_EQ(c.value(), "newer");
  EXPECT_EQ(loader.runs, 0);
}

TEST_F(CacheVoiding, APutWhileTheLockIsProvedIsNotOverwritten) {
  loader.let_go();
  call c;
  load(c);
  answer_locks();
  ASSERT_EQ(leases->renews.size(), 1u);
  put_newer();
  ASSERT_TRUE(put && put->has_value());
  leases->renew_next(renew_reply::renewed);
  answer_locks();
  EXPECT_EQ(c.value(), "loaded");
  EXPECT_EQ(script->entries["k"].value, cache_value("newer"));
  EXPECT_EQ(strings->stats().superseded, 1u);
}

TEST_F(CacheVoiding, AFillWithoutAPutBesideItIsStored) {
  loader.let_go();
  call c;
  load(c);
  answer_locks();
  ASSERT_EQ(leases->renews.size(), 1u);
  leases->renew_next(renew_reply::renewed);
  answer_locks();
  EXPECT_EQ(c.value(), "loaded");
  EXPECT_EQ(script->entries["k"].value, cache_value("loaded"));
}

}  // namespace
}  // namespace herdlock::scripted
