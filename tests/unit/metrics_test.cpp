// What is counted, how Prometheus reads it, and the endpoint that serves it.
#include <herdlock/metrics_endpoint.hpp>

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <cmath>
#include <thread>

#include <herdlock/cache.hpp>
#include <herdlock/lock.hpp>

#include "scripted_lease_store.hpp"
#include "support/as_result.hpp"
#include "support/eventually.hpp"

namespace herdlock::scripted {
namespace {

using namespace std::chrono_literals;
using tcp = asio::ip::tcp;

class Metrics : public ::testing::Test {
 protected:
  // Grants, and keeps the lease.
  acquired take(std::uint64_t fencing, acquire_options const& options = {}) {
    std::optional<result<acquired>> got;
    lock(*f.opened, "job").async_acquire(options, herdlock_test::as_result([&](result<acquired> r) {
                                           got.emplace(std::move(r));
                                         }));
    EXPECT_TRUE(f.run_until([&] { return !f.script->acquires.empty(); }));
    EXPECT_EQ(f.opened->metrics().waiting, 1u);
    f.script->grant_next(fencing);
    EXPECT_TRUE(f.run_until([&] { return got.has_value(); }));
    return std::move(got->value());
  }
  store_metrics now() const { return f.opened->metrics(); }

  scripted_fixture f;
};

TEST_F(Metrics, WaitsAndHoldsAreCountedInTheirOwnResolution) {
  take(7).reset();
  ASSERT_TRUE(f.run_until([&] { return !f.script->releases.empty(); }));
  f.script->release_next(release_reply::released);
  f.settle();
  for (auto const& seconds : {now().wait_time.sum_seconds, now().hold_time.sum_seconds}) {
    auto const us = seconds * 1e6;
    EXPECT_GT(us, 0);
    EXPECT_NE(us, std::floor(us / 1000) * 1000) << "cut to whole milliseconds";
  }
}

TEST_F(Metrics, ALeaseIsCountedFromItsGrantToItsEnd) {
  auto held = take(7);
  EXPECT_EQ(now().acquired, 1u);
  EXPECT_EQ(now().held, 1u);
  EXPECT_EQ(now().waiting, 0u);
  EXPECT_EQ(now().acquired_from_another, 0u);
  EXPECT_EQ(now().wait_time.count(), 1u);
  held.reset();
  ASSERT_TRUE(f.run_until([&] { return !f.script->releases.empty(); }));
  f.script->release_next(release_reply::released);
  f.settle();
  EXPECT_EQ(now().released, 1u);
  EXPECT_EQ(now().held, 0u);
  EXPECT_EQ(now().hold_time.count(), 1u);
  EXPECT_EQ(now().lost, 0u);
}

TEST_F(Metrics, ARenewalAndALossAreCounted) {
  auto held = take(7, {.ttl = 300ms});
  ASSERT_TRUE(f.run_until([&] { return !f.script->renews.empty(); }));
  f.script->renew_next(renew_reply::renewed);
  ASSERT_TRUE(f.run_until([&] { return !f.script->renews.empty(); }));
  f.script->renew_next(make_failure(errc::unavailable, "scripted"));
  ASSERT_TRUE(f.run_until([&] { return !f.script->renews.empty(); }));
  f.script->renew_next(renew_reply::lost);
  f.settle();
  EXPECT_EQ(now().renewed, 1u);
  EXPECT_EQ(now().renew_failed, 1u);
  EXPECT_EQ(now().lost, 1u);
  EXPECT_EQ(now().held, 0u);
  held.reset();
  ASSERT_TRUE(f.run_until([&] { return !f.script->releases.empty(); }));
  f.script->release_next(release_reply::lost);
  f.settle();
  EXPECT_EQ(now().lost, 1u) << "once";
  EXPECT_EQ(now().released, 0u);
}

TEST_F(Metrics, AnAcquisitionThatWaitedForAnotherIsCountedApart) {
  std::optional<result<acquired>> got;
  lock(*f.opened, "job").async_acquire({.wait = 1min}, herdlock_test::as_result([&](auto r) {
                                         got.emplace(std::move(r));
                                       }));
  ASSERT_TRUE(f.run_until([&] { return !f.script->acquires.empty(); }));
  f.script->busy_next();
  ASSERT_TRUE(f.run_until([&] { return !f.script->acquires.empty(); }));
  f.script->grant_next(8);
  ASSERT_TRUE(f.run_until([&] { return got.has_value(); }));
  EXPECT_EQ(now().acquired_from_another, 1u);
  EXPECT_EQ(now().acquired, 1u);
}

TEST_F(Metrics, BusyFailedAndCanceledAreToldApart) {
  int answered = 0;
  auto const note = [&](result<acquired> const&) { ++answered; };
  asio::cancellation_signal cancel;
  lock const where(*f.opened, "job");
  where.async_try_acquire({}, herdlock_test::as_result(note));
  where.async_try_acquire({}, herdlock_test::as_result(note));
  where.async_try_acquire(
      {}, herdlock_test::as_result(asio::bind_cancellation_slot(cancel.slot(), note)));
  ASSERT_TRUE(f.run_until([&] { return f.script->acquires.size() == 3; }));
  f.script->busy_next();
  f.script->fail_next_acquire(errc::access_denied);
  cancel.emit(asio::cancellation_type::all);
  ASSERT_TRUE(f.run_until([&] { return answered == 3; }));
  EXPECT_EQ(now().busy, 1u);
  EXPECT_EQ(now().failed, 1u);
  EXPECT_EQ(now().canceled, 1u);
  EXPECT_EQ(now().waiting, 0u);
}

// --------------------------------------------------------------------------------- Prometheus

store_metrics example() {
  store_metrics made;
  made.store = "redis://\"a\"\\b\n";
  made.acquired = 3;
  made.held = 2;
  made.wait_time.counts[0] = 1;
  made.wait_time.counts[3] = 2;
  made.wait_time.counts.back() = 1;
  made.wait_time.sum_seconds = 4000.25;
  made.caches.hits = 9;
  made.caches.load_errors = 1;
  made.load_time.counts[6] = 5;
  return made;
}

TEST(PrometheusText, CountersHaveHelpTypeAndAnEscapedLabel) {
  auto const text = prometheus_text({example()});
  EXPECT_NE(text.find("# HELP herdlock_acquired_total Grants.\n"
                      "# TYPE herdlock_acquired_total counter\n"
                      "herdlock_acquired_total{store=\"redis://\\\"a\\\"\\\\b\\n\"} 3\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("# TYPE herdlock_held gauge\n"), std::string::npos);
  EXPECT_EQ(text.back(), '\n');
}

TEST(PrometheusText, HistogramsAreCumulativeAndEndWithInfinity) {
  auto all = example();
  all.store = "s";
  auto const text = prometheus_text({all});
  for (char const* line : {"herdlock_wait_seconds_bucket{store=\"s\",le=\"0.0005\"} 1\n",
                           "herdlock_wait_seconds_bucket{store=\"s\",le=\"0.0025\"} 1\n",
                           "herdlock_wait_seconds_bucket{store=\"s\",le=\"0.005\"} 3\n",
                           "herdlock_wait_seconds_bucket{store=\"s\",le=\"3600\"} 3\n",
                           "herdlock_wait_seconds_bucket{store=\"s\",le=\"+Inf\"} 4\n",
                           "herdlock_wait_seconds_sum{store=\"s\"} 4000.25\n",
                           "herdlock_wait_seconds_count{store=\"s\"} 4\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST(PrometheusText, CachesAreToldWithTheirStore) {
  auto all = example();
  all.store = "s";
  auto const text = prometheus_text({all});
  for (char const* line :
       {"# TYPE herdlock_cache_hits_total counter\n", "herdlock_cache_hits_total{store=\"s\"} 9\n",
        "herdlock_cache_load_errors_total{store=\"s\"} 1\n",
        "herdlock_cache_misses_total{store=\"s\"} 0\n",
        "herdlock_cache_load_seconds_bucket{store=\"s\",le=\"0.1\"} 5\n",
        "herdlock_cache_load_seconds_count{store=\"s\"} 5\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST(PrometheusText, TheHotKeysOfACacheAreToldWithItsStore) {
  auto const opened = open_store("memory:");
  cache<std::string> const one(
      opened, {.hot = {.keys = hot_keys_options{.threshold = 10, .min_reads = 5}}});
  ASSERT_TRUE(herdlock_test::eventually([&] {
    one.get_or_load("k", [] { return std::string("loaded"); });
    return opened.metrics().caches.hot == 1;
  }));
  auto const text = prometheus_text({opened.metrics()});
  for (char const* line :
       {"# TYPE herdlock_cache_hot gauge\n", "herdlock_cache_hot{store=\"memory:\"} 1\n",
        "# TYPE herdlock_cache_became_hot_total counter\n",
        "herdlock_cache_became_hot_total{store=\"memory:\"} 1\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST(PrometheusText, SeveralStoresShareOneHead) {
  auto a = example();
  auto b = example();
  a.store = "a";
  b.store = "b";
  auto const text = prometheus_text({a, b});
  auto const head = text.find("# TYPE herdlock_busy_total");
  ASSERT_NE(head, std::string::npos);
  EXPECT_EQ(text.find("# TYPE herdlock_busy_total", head + 1), std::string::npos);
}

// A monitoring system would drop the second without a word.
TEST(PrometheusText, StoresOfOneUrlHaveLabelsOfTheirOwn) {
  auto a = example();
  auto other = example();
  a.store = "redis://shop";
  other.store = "memory:";
  auto b = a;
  a.acquired = 3;
  b.acquired = 4;
  auto const text = prometheus_text({a, other, b});
  for (std::string const line : {"herdlock_acquired_total{store=\"redis://shop\"} 3\n",
                                 "herdlock_acquired_total{store=\"redis://shop #2\"} 4\n",
                                 "herdlock_hold_seconds_count{store=\"redis://shop #2\"} "}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  EXPECT_EQ(text.find("memory: #"), std::string::npos) << text;
}

// ----------------------------------------------------------------------------------- endpoint

class MetricsEndpoint : public ::testing::Test {
 protected:
  MetricsEndpoint() {
    where_.emplace(serve_metrics(io_.get_executor(), 0, {store_}));
    thread_ = std::thread([this] { io_.run(); });
  }
  ~MetricsEndpoint() override {
    where_.reset();
    work_.reset();
    thread_.join();
  }

  tcp::socket connect() {
    tcp::socket socket(client_);
    socket.connect({asio::ip::address_v4::loopback(), where_->port()});
    return socket;
  }
  static std::string answer(tcp::socket& socket) {
    std::string text;
    boost::system::error_code end;
    asio::read(socket, asio::dynamic_buffer(text), end);
    return text;
  }
  std::string ask(std::string const& request) {
    auto socket = connect();
    asio::write(socket, asio::buffer(request));
    return answer(socket);
  }

  store const store_ = open_store("memory:");
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(io_);
  asio::io_context client_;
  std::optional<metrics_endpoint> where_;
  std::thread thread_;
};

TEST_F(MetricsEndpoint, ServesTheFiguresOfItsStores) {
  auto held = lock(store_, "job").try_acquire();
  auto const text = ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(text.rfind("HTTP/1.1 200", 0), 0u) << text;
  EXPECT_NE(text.find("text/plain; version=0.0.4"), std::string::npos) << text;
  EXPECT_NE(text.find("herdlock_held{store=\"memory:\"} 1\n"), std::string::npos) << text;
}

TEST_F(MetricsEndpoint, RefusesWhatItDoesNotServe) {
  EXPECT_EQ(ask("GET /other HTTP/1.1\r\nHost: x\r\n\r\n").rfind("HTTP/1.1 404", 0), 0u);
  EXPECT_EQ(ask("DELETE /metrics HTTP/1.1\r\nHost: x\r\n\r\n").rfind("HTTP/1.1 405", 0), 0u);
  EXPECT_EQ(ask("nonsense\r\n\r\n"), "");
  EXPECT_EQ(ask("GET /metrics HTTP/1.1\r\nA: " + std::string(16 * 1024, 'x')), "");
}

// S-L16: they kept a scraper waiting for ten seconds.
TEST_F(MetricsEndpoint, OfSixteenThatSayNothingTheFirstGivesWay) {
  auto const request = std::string("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  std::vector<tcp::socket> silent;
  for (int i = 0; i < 16; ++i) silent.push_back(connect());
  EXPECT_EQ(ask(request).rfind("HTTP/1.1 200", 0), 0u);
  EXPECT_EQ(answer(silent.front()), "");
  // The others are served once they ask, whatever has come since.
  asio::write(silent.back(), asio::buffer(request));
  EXPECT_EQ(answer(silent.back()).rfind("HTTP/1.1 200", 0), 0u);
}

TEST_F(MetricsEndpoint, IsGoneWithItsOwner) {
  auto const port = where_->port();
  auto silent = connect();
  where_.reset();
  EXPECT_EQ(answer(silent), "");
  tcp::socket socket(client_);
  boost::system::error_code code;
  socket.connect({asio::ip::address_v4::loopback(), port}, code);
  EXPECT_TRUE(code);
}

TEST_F(MetricsEndpoint, APortThatIsTakenIsTold) {
  try {
    serve_metrics(io_.get_executor(), where_->port(), {store_});
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), make_error_code(errc::unavailable));
    EXPECT_NE(std::string(e.what()).find(std::to_string(where_->port())), std::string::npos);
  }
}

}  // namespace
}  // namespace herdlock::scripted
