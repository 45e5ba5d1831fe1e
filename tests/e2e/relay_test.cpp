// The relay whose connections stand still, of `herdlock demo near`.
#include <gtest/gtest.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <string>
#include <support/eventually.hpp>

#include "stage/relay.hpp"

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// One client and one server, with the relay between them.
class DemoRelay : public ::testing::Test {
 protected:
  void SetUp() override {
    client_.connect({asio::ip::address_v4::loopback(), relay_.port()});
    bool accepted = false;
    acceptor_.async_accept(server_, [&](error_code code) { accepted = !code; });
    ASSERT_TRUE(works_until([&] { return accepted; }));
    listen_on();
  }

  template <class Condition>
  bool works_until(Condition holds) {
    return herdlock_test::eventually([&] {
      io_.poll();
      return holds();
    });
  }

  // Returns when the relay has taken it.
  void send(std::string const& text) {
    auto const taken = relay_.taken() + text.size();
    asio::write(client_, asio::buffer(text));
    EXPECT_TRUE(works_until([&] { return relay_.taken() == taken; })) << text;
  }

  void listen_on() {
    server_.async_read_some(asio::buffer(bytes_), [this](error_code code, std::size_t size) {
      got_.append(bytes_.data(), size);
      ended_ = bool(code);
      if (!ended_) listen_on();
    });
  }

  asio::io_context io_{1};
  tcp::acceptor acceptor_{io_, {asio::ip::address_v4::loopback(), 0}};
  herdlock::cli::relay relay_{io_, acceptor_.local_endpoint()};
  tcp::socket client_{io_};
  tcp::socket server_{io_};
  std::array<char, 64> bytes_{};
  std::string got_;
  bool ended_ = false;
};

TEST_F(DemoRelay, WhatIsHeldPassesInItsOrderWhenItGoesOn) {
  send("a");
  ASSERT_TRUE(works_until([&] { return got_ == "a"; }));
  relay_.freeze();
  std::string all = "a";
  for (char const* part : {"b", "c", "d"}) {
    send(part);
    all += part;
    EXPECT_EQ(got_, "a");
  }
  relay_.thaw();
  EXPECT_TRUE(works_until([&] { return got_ == all; })) << got_;
  send("e");
  EXPECT_TRUE(works_until([&] { return got_ == all + "e"; })) << got_;
}

// It connects again: many of these would be too many connections for the server.
TEST_F(DemoRelay, AClientThatGoesIsNoticedWhileItStandsStill) {
  relay_.freeze();
  send("a question");
  client_.close();
  EXPECT_TRUE(works_until([&] { return ended_; })) << "the server still has a connection";
  EXPECT_EQ(got_, "");
}

}  // namespace
