// Name servers and servers that say nothing: the command ends all the same, and tells.
#include <gtest/gtest.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <iostream>
#include <list>
#include <optional>
#include <string_view>
#include <thread>

#include "doctor_report.hpp"

namespace {

using namespace herdlock_test;
namespace asio = boost::asio;
using asio::ip::tcp;

// ---- a name server

constexpr char const* named_stores[] = {"redis://a.example",
                                        "rediss://a.example",
                                        "redis+sentinel://a.example/main",
                                        "redis+cluster://a.example",
                                        "redlock://a.example,b.example,c.example",
                                        "etcd://a.example",
                                        "postgres://u@a.example/d",
                                        "mysql://u@a.example/d",
                                        "zk://a.example"};

class SilentNameServer : public testing::TestWithParam<char const*> {
 protected:
  // A look-up would take longer than run() waits. Nothing where this user may make no namespaces;
  // there look_up_test.cpp alone tries it.
  static std::optional<command_result> herdlock(std::vector<std::string> arguments) {
    std::vector<std::string> all{"unshare",
                                 "--net",
                                 "--mount",
                                 "python3",
                                 std::string(E2E_FOLDER) + "/silent_names.py",
                                 HERDLOCK_COMMAND};
    all.insert(all.end(), arguments.begin(), arguments.end());
    child_process child({.argv = std::move(all)});
    auto const ended = child.wait();
    EXPECT_TRUE(ended) << "it waits for the name server; it said: " << child.errors();
    command_result const made{ended && ended->code ? *ended->code : -1, child.output(),
                              child.errors()};
    bool const none = made.code == 77 || made.err.find("unshare:") != std::string::npos;
    if (!none) return made;
    std::cerr << "no namespace to be had: " << made.err;
    return std::nullopt;
  }
  static std::string url() { return std::string(GetParam()) + "?timeout=1s"; }
};

TEST_P(SilentNameServer, DoesNotKeepARunFromEnding) {
  auto const ended = herdlock({"run", "stock", "--store", url(), "--wait", "none", "--", "true"});
  if (!ended) return;
  EXPECT_EQ(ended->code, 69) << ended->err;
  EXPECT_NE(ended->err.find("a.example"), std::string::npos) << ended->err;
}

TEST_P(SilentNameServer, DoesNotKeepDoctorFromTelling) {
  auto const ended = herdlock({"doctor", "--json", "--store", url()});
  if (!ended) return;
  auto const report = read_report(*ended);
  EXPECT_TRUE(report.has("error store.usable")) << report.text;
}

INSTANTIATE_TEST_SUITE_P(Stores, SilentNameServer, testing::ValuesIn(named_stores));

// ---- a server

// Takes the start-up of PostgreSQL's protocol, and says nothing from then on.
class starting_server {
 public:
  starting_server() : waiting_(io_, {asio::ip::address_v4::loopback(), 0}) {
    next();
    thread_ = std::thread([this] { io_.run(); });
  }
  ~starting_server() {
    io_.stop();
    thread_.join();
  }
  std::string url() const {
    return "postgres://u@127.0.0.1:" + std::to_string(waiting_.local_endpoint().port()) +
           "/d?timeout=1s";
  }

 private:
  void next() {
    waiting_.async_accept([this](boost::system::error_code ec, tcp::socket taken) {
      if (ec) return;
      start_up(kept_.emplace_back(std::move(taken)));
      next();
    });
  }
  // Blocking: what a client sends first comes whole.
  static void start_up(tcp::socket& with) {
    constexpr std::string_view welcome("R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", 15);
    std::array<unsigned char, 4> size{};
    std::array<char, 256> text{};
    boost::system::error_code ec;
    while (!ec) {
      asio::read(with, asio::buffer(size), ec);
      bool const asks_for_tls = size[3] == 8;
      asio::read(with, asio::buffer(text, size[3] - 4u), ec);
      asio::write(with, asks_for_tls ? asio::buffer("N", 1) : asio::buffer(welcome), ec);
      if (!asks_for_tls) return;
    }
  }

  asio::io_context io_;
  tcp::acceptor waiting_;
  std::list<tcp::socket> kept_;
  std::thread thread_;
};

TEST(DoctorPostgres, TellsOfAServerThatAnswersTheStartUpAndThenNothing) {
  starting_server const server;
  auto const report = examined(server.url());
  EXPECT_TRUE(report.has("error postgres.reachable")) << report.text;
  EXPECT_NE(report.text.find("does not answer"), std::string::npos) << report.text;
  EXPECT_TRUE(report.has("error store.usable")) << report.text;
}

}  // namespace
