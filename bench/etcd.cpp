// Acquire and release over etcd beside the three calls that it takes at least, sent by hand; and
// the hand-over beside that of the server's own lock service. Both through the JSON gateway.
//
// HERDLOCK_BENCH_PIN=1 keeps the server on CPU 0 and the clients on CPU 1.
#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <support/etcd_server.hpp>
#include <thread>
#include <vector>

#include <herdlock/store.hpp>
#include <herdlock/url.hpp>

#include "harness.hpp"
#include "stores/etcd/etcd_store.hpp"

namespace {

using namespace herdlock;

constexpr std::size_t steps = 16;  // of one round
constexpr std::size_t rounds = 40;
constexpr milliseconds ttl{30'000};

// One connection that stays open; every call blocks.
class raw_client {
 public:
  explicit raw_client(std::uint16_t port) : socket_(io_) {
    socket_.connect({asio::ip::address_v4::loopback(), port});
    socket_.set_option(asio::ip::tcp::no_delay(true));
  }

  std::string post(std::string const& path, std::string const& body) {
    std::string const text = "POST " + path + " HTTP/1.1\r\nHost: etcd\r\nContent-Length: " +
                             std::to_string(body.size()) + "\r\n\r\n" + body;
    asio::write(socket_, asio::buffer(text));
    auto const head = asio::read_until(socket_, asio::dynamic_buffer(in_), "\r\n\r\n");
    if (in_.substr(0, head).find(" 200 ") == std::string::npos) std::abort();
    return in_.find("chunked") < head ? chunked(head) : sized(head);
  }

 private:
  std::string sized(std::size_t head) {
    auto const at = in_.find("Content-Length: ");
    if (at >= head) std::abort();
    std::size_t const length = std::strtoul(in_.c_str() + at + 16, nullptr, 10);
    if (in_.size() < head + length) {
      asio::read(socket_, asio::dynamic_buffer(in_),
                 asio::transfer_exactly(head + length - in_.size()));
    }
    std::string body = in_.substr(head, length);
    in_.erase(0, head + length);
    return body;
  }
  std::string chunked(std::size_t head) {
    in_.erase(0, head);
    auto const end = asio::read_until(socket_, asio::dynamic_buffer(in_), "0\r\n\r\n");
    std::string body = in_.substr(0, end);
    in_.erase(0, end);
    return body;
  }

  asio::io_context io_;
  asio::ip::tcp::socket socket_;
  std::string in_;
};

std::string lease_body(int id) { return R"({"ID":")" + std::to_string(id) + R"(","TTL":"30"})"; }

// The minimum: a lease, a transaction that creates the key if there is none, the lease's end.
class by_hand {
 public:
  explicit by_hand(std::uint16_t port) : raw_(port) {}

  double round() {
    return bench::nanoseconds_of([&] {
             for (std::size_t i = 0; i < steps; ++i) once();
           }) /
           1000 / steps;
  }

 private:
  void once() {
    std::string const id = std::to_string(++last_);
    raw_.post("/v3/lease/grant", lease_body(last_));
    raw_.post("/v3/kv/txn",
              R"({"compare":[{"key":"cmF3","target":"CREATE","result":"EQUAL",)"
              R"("create_revision":"0"}],"success":[{"request_put":{"key":"cmF3","lease":")" +
                  id + R"("}}]})");
    raw_.post("/v3/lease/revoke", lease_body(last_));
  }

  raw_client raw_;
  int last_ = 1'000'000;
};

// A handle on the measuring thread, for two owners.
class side {
 public:
  explicit side(std::string const& url)
      : store_(open_etcd(store_url::parse(url).value(), io_.get_executor()).value()) {}
  ~side() {
    store_ = {};
    io_.restart();
    io_.run();
  }

  double uncontended_round() {
    return bench::nanoseconds_of([&] {
             for (std::size_t i = 0; i < steps; ++i) {
               auto const owner = owner_token::generate();
               acquire(owner, milliseconds{0});
               release(owner);
             }
           }) /
           1000 / steps;
  }

  /// The median of: release called, until the waiter is granted.
  double hand_over_round() {
    std::vector<double> gaps;
    auto holder = owner_token::generate();
    acquire(holder, milliseconds{0});
    for (std::size_t i = 0; i < steps; ++i) {
      auto const next = owner_token::generate();
      bool granted = false;
      start_acquire(next, milliseconds{60'000}, granted);
      // Until it is in the queue and its watch stands.
      io_.restart();
      io_.run_for(milliseconds{20});
      gaps.push_back(bench::nanoseconds_of([&] {
                       bool released = false;
                       start_release(holder, released);
                       run_until(granted);
                     }) /
                     1000);
      holder = next;
    }
    release(holder);
    std::ranges::nth_element(gaps, gaps.begin() + steps / 2);
    return gaps[steps / 2];
  }

 private:
  void start_acquire(owner_token const& owner, milliseconds wait, bool& done) {
    store_.leases->acquire({name_, owner, ttl, wait}, [&done](result<acquire_reply> r) {
      if (!r.has_value() || !std::holds_alternative<grant>(*r)) std::abort();
      done = true;
    });
  }
  void start_release(owner_token const& owner, bool& done) {
    store_.leases->release(name_, owner, [&done](result<release_reply> r) {
      if (!r.has_value()) std::abort();
      done = true;
    });
  }
  void acquire(owner_token const& owner, milliseconds wait) {
    bool done = false;
    start_acquire(owner, wait, done);
    run_until(done);
  }
  void release(owner_token const& owner) {
    bool done = false;
    start_release(owner, done);
    run_until(done);
  }
  void run_until(bool const& done) {
    io_.restart();
    while (!done) io_.run_one();
  }

  asio::io_context io_{1};
  backend store_;
  resource name_{"bench"};
};

// The same hand-over by /v3/lock/lock and /v3/lock/unlock; "bG9jaw==" is the name.
class lock_service {
 public:
  explicit lock_service(std::uint16_t port) : holder_(port), waiter_(port) {
    for (int id = 1; id <= 2; ++id) holder_.post("/v3/lease/grant", lease_body(id));
  }

  double round() {
    std::vector<double> gaps;
    std::string key = lock(holder_, 1);
    for (std::size_t i = 0; i < steps; ++i) {
      std::string next;
      std::chrono::steady_clock::time_point granted;
      std::thread waiting([&] {
        next = lock(waiter_, i % 2 == 0 ? 2 : 1);
        granted = std::chrono::steady_clock::now();
      });
      std::this_thread::sleep_for(milliseconds{20});
      auto const begin = std::chrono::steady_clock::now();
      unlock(key);
      waiting.join();
      gaps.push_back(std::chrono::duration<double, std::micro>(granted - begin).count());
      key = next;
    }
    unlock(key);
    for (int id = 1; id <= 2; ++id) holder_.post("/v3/lease/keepalive", lease_body(id));
    std::ranges::nth_element(gaps, gaps.begin() + steps / 2);
    return gaps[steps / 2];
  }

 private:
  static std::string lock(raw_client& by, int lease) {
    std::string const reply = by.post(
        "/v3/lock/lock", R"({"name":"bG9jaw==","lease":")" + std::to_string(lease) + R"("})");
    auto const at = reply.find("\"key\":\"") + 7;
    return reply.substr(at, reply.find('"', at) - at);
  }
  void unlock(std::string const& key) {
    holder_.post("/v3/lock/unlock", R"({"key":")" + key + R"("})");
  }

  raw_client holder_;
  raw_client waiter_;
};

void measure_etcd(bench::report& report) {
  bench::pin_if_asked(0);
  herdlock_test::etcd_server server;
  bench::pin_if_asked(1);
  side ours(server.url());
  by_hand minimum(server.port());
  report.compare({.name = "etcd.acquire_release",
                  .unit = "us",
                  .subject = [&] { return ours.uncontended_round(); },
                  .baseline = [&] { return minimum.round(); },
                  .limit = bench::at_most(1.25),
                  .rounds = rounds});
  lock_service theirs(server.port());
  report.compare({.name = "etcd.hand_over_p50",
                  .unit = "us",
                  .subject = [&] { return ours.hand_over_round(); },
                  .baseline = [&] { return theirs.round(); },
                  .limit = bench::at_most(1),
                  .rounds = rounds});
}

bench::suite const etcd_suite("etcd", [](bench::report& report) {
  try {
    measure_etcd(report);
  } catch (std::runtime_error const& why) {
    report.skip("etcd", why.what());
  }
});

}  // namespace
