// The C API at its edges; examples/5_c.c is its everyday use, in C.
#include <herdlock/c.h>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <herdlock/lock.hpp>
#include <string>

namespace {

class CApi : public ::testing::Test {
 protected:
  CApi() { EXPECT_EQ(herdlock_open("memory:c-api", &store_, &why_), HERDLOCK_OK) << why_.message; }
  ~CApi() override { herdlock_close(store_); }

  herdlock_lease* take(char const* name) {
    herdlock_lease* lease = nullptr;
    EXPECT_EQ(herdlock_acquire(store_, name, nullptr, &lease, &why_), HERDLOCK_OK) << why_.message;
    return lease;
  }
  bool said(char const* part) const {
    return std::string(why_.message).find(part) != std::string::npos;
  }

  herdlock_store* store_ = nullptr;
  herdlock_error why_{};
};

TEST_F(CApi, NullPointersAreAnsweredNotFollowed) {
  herdlock_lease* lease = nullptr;
  herdlock_store* other = nullptr;
  EXPECT_EQ(herdlock_open(nullptr, &other, &why_), HERDLOCK_ERR_USAGE);
  EXPECT_TRUE(said("null pointer"));
  EXPECT_EQ(herdlock_open("memory:", nullptr, nullptr), HERDLOCK_ERR_USAGE);
  EXPECT_EQ(herdlock_acquire(nullptr, "a", nullptr, &lease, &why_), HERDLOCK_ERR_USAGE);
  EXPECT_EQ(herdlock_acquire(store_, nullptr, nullptr, &lease, &why_), HERDLOCK_ERR_USAGE);
  EXPECT_EQ(herdlock_acquire(store_, "a", nullptr, nullptr, &why_), HERDLOCK_ERR_USAGE);
  EXPECT_EQ(herdlock_lease_valid(nullptr), 0);
  EXPECT_EQ(herdlock_lease_fencing(nullptr), 0u);
  EXPECT_EQ(herdlock_lease_remaining_ms(nullptr), 0);
  EXPECT_EQ(herdlock_lease_on_lost(nullptr, nullptr, nullptr, &why_), HERDLOCK_ERR_USAGE);
  EXPECT_EQ(herdlock_release(nullptr, &why_), HERDLOCK_OK);
  herdlock_close(nullptr);
}

TEST_F(CApi, AChildOfForkIsAnsweredAndTheParentGoesOn) {
  herdlock_lease* mine = take("parent");
  ASSERT_NE(mine, nullptr);
  pid_t const child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(20);  // a call that waits for ever ends the child, not the test
    herdlock_lease* lease = nullptr;
    bool ok = herdlock_acquire(store_, "a", nullptr, &lease, nullptr) == HERDLOCK_ERR_USAGE;
    ok = ok && herdlock_lease_valid(mine) == 0 && herdlock_lease_remaining_ms(mine) == 0;
    ok = ok && herdlock_lease_on_lost(
                   mine, [](void*) {}, nullptr, nullptr) == HERDLOCK_ERR_USAGE;
    ok = ok && herdlock_release(mine, nullptr) == HERDLOCK_ERR_USAGE;
    herdlock_close(store_);
    ::_exit(ok ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(herdlock_lease_valid(mine), 1);
  EXPECT_EQ(herdlock_release(mine, &why_), HERDLOCK_OK);
}

TEST_F(CApi, ErrorsHaveACodeAndASentence) {
  herdlock_store* other = store_;
  EXPECT_EQ(herdlock_open("nonsense:", &other, &why_), HERDLOCK_ERR_USAGE);
  EXPECT_EQ(other, nullptr);
  EXPECT_EQ(why_.code, HERDLOCK_ERR_USAGE);
  EXPECT_TRUE(said("nonsense")) << why_.message;
  herdlock_lease* lease = nullptr;
  herdlock_acquire_options options{sizeof options, -5, 0, 0};
  EXPECT_EQ(herdlock_acquire(store_, "a", &options, &lease, &why_), HERDLOCK_ERR_USAGE);
  options = {sizeof options - 1, 0, 0, 0};
  EXPECT_EQ(herdlock_acquire(store_, "a", &options, &lease, &why_), HERDLOCK_ERR_USAGE);
  EXPECT_TRUE(said("sizeof"));
  EXPECT_EQ(lease, nullptr);
}

TEST_F(CApi, AMessageThatIsTooLongIsCutAndEnds) {
  herdlock_store* other = nullptr;
  std::string const url = "nonsense" + std::string(2000, 'x') + ":";
  EXPECT_EQ(herdlock_open(url.c_str(), &other, &why_), HERDLOCK_ERR_USAGE);
  EXPECT_LT(std::string(why_.message).size(), sizeof why_.message);
}

TEST_F(CApi, AStoreThatCannotAnswerIsUnavailable) {
  herdlock_store* sqlite = nullptr;
  EXPECT_EQ(herdlock_open("sqlite:/nowhere/at/all.db", &sqlite, &why_), HERDLOCK_ERR_UNAVAILABLE);
}

TEST_F(CApi, TheStoreMayBeClosedBeforeItsLeases) {
  herdlock_store* other = nullptr;
  ASSERT_EQ(herdlock_open("memory:c-api-2", &other, &why_), HERDLOCK_OK);
  herdlock_lease* lease = nullptr;
  ASSERT_EQ(herdlock_acquire(other, "a", nullptr, &lease, &why_), HERDLOCK_OK);
  herdlock_close(other);
  EXPECT_EQ(herdlock_lease_valid(lease), 1);
  EXPECT_EQ(herdlock_release(lease, &why_), HERDLOCK_OK);
}

TEST_F(CApi, ALossIsToldOnceAndTheReleaseSaysSo) {
  auto* const lease = take("lost");
  std::atomic<int> told{0};
  auto const note = [](void* context) { ++*static_cast<std::atomic<int>*>(context); };
  ASSERT_EQ(herdlock_lease_on_lost(lease, note, &told, &why_), HERDLOCK_OK);
  EXPECT_EQ(herdlock_lease_on_lost(lease, note, &told, &why_), HERDLOCK_ERR_USAGE) << "a second";
  EXPECT_GT(herdlock_lease_remaining_ms(lease), 0);
  ASSERT_TRUE(herdlock::lock(herdlock::open_store("memory:c-api"), "lost").force_release());
  EXPECT_EQ(herdlock_release(lease, &why_), HERDLOCK_LOST);
  EXPECT_LE(told, 1);
}

}  // namespace
