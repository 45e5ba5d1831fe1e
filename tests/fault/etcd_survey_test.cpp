// What a handle believes when few members have told it of which cluster they are.
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <thread>

#include "etcd_ports.hpp"

namespace herdlock_test {
namespace {

std::string at(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

struct EtcdSurvey : testing::Test {
  static etcd_cluster& cluster() {
    static etcd_cluster shared;
    return shared;
  }
  // Each member behind a relay.
  std::string url(std::string const& user = "") const {
    return "etcd://" + user + at(paths[0].port()) + "," + at(paths[1].port()) + "," +
           at(paths[2].port());
  }
  void clerks_of_another_password() {
    auto const& member = stranger.member();
    member.ctl({"user", "add", "root:secret"});
    member.ctl({"user", "grant-role", "root", "root"});
    member.ctl({"user", "add", "clerk:brush"});
    member.ctl({"auth", "enable"});
  }
  double log_ins_at_the_stranger() const {
    return stranger.metric(
        "grpc_server_started_total{grpc_method=\"Authenticate\","
        "grpc_service=\"etcdserverpb.Auth\",grpc_type=\"unary\"}");
  }

  std::array<relay, 3> paths{relay{cluster().member(0).port()}, relay{cluster().member(1).port()},
                             relay{cluster().member(2).port()}};
  etcd_server stranger;
  resource const stock{"stock/" + std::to_string(clock::now().time_since_epoch().count())};
  owner_token const alice = owner_token::generate();
  owner_token const bob = owner_token::generate();
};

// It was the only one that answered, so it was believed without end.
TEST_F(EtcdSurvey, AStrangerIsNotBelievedWhileTheOthersAreDown) {
  paths[0].lead_to(stranger.port());
  paths[1].refuse();
  paths[2].refuse();
  etcd_client early(url() + "?timeout=1s");
  auto told = early.acquire(stock, bob);
  ASSERT_TRUE(told.has_error()) << "granted by a stranger";
  EXPECT_TRUE(told.error() == errc::unavailable) << told.error().message;
  EXPECT_NE(told.error().message.find("1 of 3 members named their cluster"), std::string::npos)
      << told.error().message;
  paths[1].accept();
  paths[2].accept();
  etcd_client holder(cluster().url());
  ASSERT_TRUE(is<grant>(holder.acquire(stock, alice)));
  told = early.acquire(stock, bob);
  EXPECT_TRUE(is<busy>(told)) << (told ? "a second holder" : told.error().message);
}

TEST_F(EtcdSurvey, AStrangerIsNotBelievedWhileTheOthersHang) {
  paths[0].lead_to(stranger.port());
  paths[1].stop_forwarding();
  paths[2].stop_forwarding();
  etcd_client early(url() + "?timeout=1s");
  auto told = early.acquire(stock, bob);
  ASSERT_TRUE(told.has_error()) << "granted by a stranger";
  paths[1].resume_forwarding();
  paths[2].resume_forwarding();
  etcd_client holder(cluster().url());
  ASSERT_TRUE(is<grant>(holder.acquire(stock, alice)));
  told = early.acquire(stock, bob);
  EXPECT_TRUE(is<busy>(told)) << (told ? "a second holder" : told.error().message);
}

TEST_F(EtcdSurvey, TwoMembersThatContradictEachOtherAreBothNotBelieved) {
  paths[0].lead_to(stranger.port());
  etcd_client one("etcd://" + at(paths[0].port()) + "," + at(paths[1].port()) + "?timeout=1s");
  auto const told = one.acquire(stock, bob);
  ASSERT_TRUE(told.has_error()) << "granted by one of two";
  EXPECT_TRUE(told.error() == errc::unavailable) << told.error().message;
}

TEST_F(EtcdSurvey, TheOtherOfTwoIsHeardWhenItComesBack) {
  paths[0].lead_to(stranger.port());
  paths[1].refuse();
  etcd_client one("etcd://" + at(paths[0].port()) + "," + at(paths[1].port()) + "?timeout=1s");
  ASSERT_TRUE(is<grant>(one.acquire(stock, bob)));
  paths[1].accept();
  EXPECT_TRUE(one.run_until([&] { return one.renew(stock, bob).has_error(); }))
      << "one of two is believed without end";
}

// Its no was the end of the call, and it was told our password.
TEST_F(EtcdSurvey, AStrangerIsNotToldThePassword) {
  clerks_of_another_password();
  auto const before = log_ins_at_the_stranger();
  paths[0].lead_to(stranger.port());
  etcd_client one(url("clerk:pen@"));
  auto const told = one.acquire(stock, alice);
  EXPECT_TRUE(is<grant>(told)) << (told ? "" : told.error().message);
  EXPECT_EQ(log_ins_at_the_stranger(), before);
}

TEST_F(EtcdSurvey, TheNoOfWhoTookAMembersAddressIsNotTheCalls) {
  clerks_of_another_password();
  etcd_client one(url("clerk:pen@"));
  ASSERT_TRUE(is<grant>(one.acquire(stock, alice)));
  paths[0].lead_to(stranger.port());
  paths[0].cut_all();
  auto const told = one.acquire(resource(stock.str() + "/second"), alice);
  ASSERT_TRUE(told.has_value()) << told.error().message;
  EXPECT_TRUE(is<grant>(told));
}

// A share of the timeout is longer than this test's patience.
TEST_F(EtcdSurvey, AMemberThatHangsCostsNothingBesideAMajority) {
  paths[1].stop_forwarding();
  etcd_client one(url() + "?timeout=10m");
  EXPECT_TRUE(is<grant>(one.acquire(stock, alice)));
}

TEST_F(EtcdSurvey, TheOtherOfTwoIsNotWaitedForLong) {
  paths[1].stop_forwarding();
  etcd_client one("etcd://" + at(paths[0].port()) + "," + at(paths[1].port()) + "?timeout=10m");
  EXPECT_TRUE(is<grant>(one.acquire(stock, alice)));
  paths[1].cut_all();
}

TEST_F(EtcdSurvey, WhereNobodySaysAWarningIsGiven) {
  for (auto& one : paths) one.replace_in_replies("cluster_id", "no_cluster");
  etcd_client one(url());
  EXPECT_TRUE(is<grant>(one.acquire(stock, alice)));
  auto const told = one.store().warnings->list();
  ASSERT_FALSE(told.empty());
  EXPECT_NE(told[0].find("do not tell of which cluster"), std::string::npos) << told[0];
}

// A server of which nobody may ask the status without a user.
class shy_member {
 public:
  shy_member() : runs_([this] { run(); }) {}
  ~shy_member() {
    over_ = true;
    boost::system::error_code ignored;
    tcp::socket(io_).connect(door_.local_endpoint(), ignored);  // what accept() waits for
    runs_.join();
  }
  std::uint16_t port() const { return door_.local_endpoint().port(); }

 private:
  using tcp = boost::asio::ip::tcp;

  void run() {
    std::vector<std::jthread> served;  // until their clients have gone
    while (true) {
      boost::system::error_code ec;
      auto client = door_.accept(ec);
      if (ec || over_) return;
      served.emplace_back([one = std::move(client)]() mutable { serve(one); });
    }
  }
  // Our requests are small: the body comes with the head.
  static void serve(tcp::socket& client) {
    boost::system::error_code ec;
    std::array<char, 8192> piece{};
    while (true) {
      auto const size = client.read_some(boost::asio::buffer(piece), ec);
      if (ec) return;
      bool const lease = std::string_view(piece.data(), size).starts_with("POST /v3/lease/");
      std::string const body = lease ? R"({"result":{"header":{"cluster_id":"8"},"ID":"0"}})"
                                     : R"({"error":"permission denied","code":7,"message":"no"})";
      std::string const text = std::string(lease ? "HTTP/1.1 200 OK" : "HTTP/1.1 403 Forbidden") +
                               "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                               body;
      boost::asio::write(client, boost::asio::buffer(text), ec);
    }
  }

  std::atomic<bool> over_ = false;
  boost::asio::io_context io_;
  tcp::acceptor door_{io_, {boost::asio::ip::address_v4::loopback(), 0}};
  std::thread runs_;
};

TEST_F(EtcdSurvey, WhoRefusesItsStatusIsAskedOtherwise) {
  shy_member shy;
  etcd_client one("etcd://" + at(paths[1].port()) + "," + at(shy.port()) + "?timeout=1s");
  auto const told = one.acquire(stock, alice);
  ASSERT_TRUE(told.has_error()) << "nobody noticed that the other member is a stranger";
  EXPECT_NE(told.error().message.find("(of cluster 8)"), std::string::npos) << told.error().message;
}

}  // namespace
}  // namespace herdlock_test
