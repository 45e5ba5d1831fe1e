// An etcd server with users.
#include "etcd_ports.hpp"

namespace herdlock_test {
namespace {

// The server forgets its tokens when it restarts: they are in its memory.
class EtcdUsersTest : public testing::Test {
 protected:
  EtcdUsersTest() {
    auto const& member = server_.member();
    member.ctl({"user", "add", "root:secret"});
    member.ctl({"user", "grant-role", "root", "root"});
    member.ctl({"role", "add", "stocks"});
    member.ctl({"role", "grant-permission", "stocks", "--prefix=true", "readwrite", "stock/"});
    member.ctl({"user", "add", "clerk:pen&paper"});
    member.ctl({"user", "grant-role", "clerk", "stocks"});
    member.ctl({"auth", "enable"});
  }
  std::string url(std::string const& user) const {
    return "etcd://" + user + "@127.0.0.1:" + std::to_string(server_.port());
  }

  etcd_server server_;
  resource const stock{"stock/1"};
  owner_token const alice = owner_token::generate();
  owner_token const bob = owner_token::generate();
};

TEST_F(EtcdUsersTest, TheRightOnesMayAndTheWrongOnesAreToldWhy) {
  etcd_client clerk(url("clerk:pen%26paper"));
  EXPECT_TRUE(is<grant>(clerk.acquire(stock, alice)));

  etcd_client wrong(url("clerk:brush"));
  auto told = wrong.acquire(stock, bob).error();
  EXPECT_TRUE(told == errc::access_denied) << told.message;
  EXPECT_NE(told.message.find("password"), std::string::npos) << told.message;
  EXPECT_EQ(told.message.find("brush"), std::string::npos) << told.message;

  etcd_client nobody(server_.url());
  told = nobody.acquire(stock, bob).error();
  EXPECT_TRUE(told == errc::access_denied) << told.message;

  // A right to other keys only.
  told = clerk.acquire(resource("till"), bob).error();
  EXPECT_TRUE(told == errc::access_denied) << told.message;

  // A token that the server does not know any more is renewed, also for the watches.
  auto bobs = clerk.wait_for(stock, bob);
  ASSERT_TRUE(clerk.run_until([&] { return clerk.waiting(stock) == 1; }));
  server_.member().kill();
  server_.start();
  EXPECT_EQ(clerk.renew(stock, alice).value(), renew_reply::renewed);
  EXPECT_EQ(clerk.release(stock, alice).value(), release_reply::released);
  EXPECT_TRUE(is<grant>(clerk.get(bobs)));
}

// A request that is refused for its token changed nothing: sent again with a new one, it tells what
// it found, not what the first may have done.
TEST_F(EtcdUsersTest, AReleaseOfWhatAnOperatorTookSaysLostAlthoughItsTokenIsRenewed) {
  etcd_client clerk(url("clerk:pen%26paper"));
  etcd_client judge(url("root:secret"));
  as<grant>(clerk.acquire(stock, alice));
  EXPECT_EQ(judge.force_release(stock).value(), release_reply::released);
  // The tokens of a user end with it.
  auto const& member = server_.member();
  member.ctl({"--user=root:secret", "user", "delete", "clerk"});
  member.ctl({"--user=root:secret", "user", "add", "clerk:pen&paper"});
  member.ctl({"--user=root:secret", "user", "grant-role", "clerk", "stocks"});
  EXPECT_EQ(clerk.release(stock, alice).value(), release_reply::lost);
}

}  // namespace
}  // namespace herdlock_test
