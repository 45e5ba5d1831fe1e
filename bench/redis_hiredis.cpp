// 64 lock pairs at once over one connection, beside 64 threads of hiredis with a connection each:
// the usual way to lock in C and C++. Theirs is the documented pattern, SET NX PX and a script that
// compares and deletes; it has neither fencing nor a queue.
//
// HERDLOCK_BENCH_PIN=1 keeps the server on CPU 0 and both clients on CPU 1.
#include <hiredis/hiredis.h>

#include <barrier>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <support/redis_server.hpp>
#include <thread>

#include <herdlock/herdlock.hpp>

#include "harness.hpp"
#include "support/as_result.hpp"

namespace {

using namespace herdlock;

constexpr std::size_t concurrent = 64;
constexpr std::size_t pairs_each = 64;  // of one round
constexpr milliseconds ttl{30'000};
constexpr char const* compare_and_delete =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

struct close_connection {
  void operator()(redisContext* connection) const { ::redisFree(connection); }
};

class hiredis_side {
 public:
  explicit hiredis_side(herdlock_test::redis_server const& server)
      : script_(server.command({"SCRIPT", "LOAD", compare_and_delete})) {
    for (auto& one : connections_) {
      one.reset(::redisConnect("127.0.0.1", server.port()));
      if (!one || one->err) throw std::runtime_error("hiredis cannot connect");
    }
  }

  /// Pairs per second.
  double round() {
    std::barrier gate(concurrent + 1);
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < concurrent; ++i) {
      threads.emplace_back([this, i, &gate] {
        gate.arrive_and_wait();
        for (std::size_t n = 0; n < pairs_each; ++n) pair(*connections_[i], i);
        gate.arrive_and_wait();
      });
    }
    gate.arrive_and_wait();
    auto const took = bench::nanoseconds_of([&] { gate.arrive_and_wait(); });
    return concurrent * pairs_each * 1e9 / took;
  }

 private:
  void pair(redisContext& connection, std::size_t i) {
    auto const name = "hiredis" + std::to_string(i);
    expect(::redisCommand(&connection, "SET %s owner NX PX 30000", name.c_str()));
    expect(::redisCommand(&connection, "EVALSHA %s 1 %s owner", script_.c_str(), name.c_str()));
  }
  static void expect(void* answer) {
    auto* const got = static_cast<redisReply*>(answer);
    bool const fine = got && (got->type == REDIS_REPLY_STATUS ||
                              (got->type == REDIS_REPLY_INTEGER && got->integer == 1));
    if (!fine) std::abort();
    ::freeReplyObject(got);
  }

  std::string script_;
  std::array<std::unique_ptr<redisContext, close_connection>, concurrent> connections_;
};

class herdlock_side {
 public:
  explicit herdlock_side(herdlock_test::redis_server const& server)
      : store_(open_store(server.url(), {.executor = io_.get_executor()})) {
    for (std::size_t i = 0; i < concurrent; ++i) {
      users_.push_back(std::make_unique<user>(user{lock(*store_, "r" + std::to_string(i)), *this}));
    }
  }
  ~herdlock_side() {
    users_.clear();
    store_.reset();
    io_.restart();
    io_.run();
  }

  double round() {
    left_ = concurrent * pairs_each;
    running_ = concurrent;
    auto const took = bench::nanoseconds_of([&] {
      for (auto& one : users_) one->next();
      io_.restart();
      while (running_ > 0) io_.run_one();
    });
    return concurrent * pairs_each * 1e9 / took;
  }

 private:
  struct user {
    lock where;
    herdlock_side& side;
    acquired held{};

    void next() {
      if (side.left_ == 0) return static_cast<void>(--side.running_);
      --side.left_;
      where.async_try_acquire(
          {.ttl = ttl}, herdlock_test::as_result([this](result<acquired> r) {
            if (!r.has_value() || !r->has_value()) std::abort();
            held = std::move(*r);
            held->async_release(herdlock_test::as_result([this](result<release_reply> released) {
              if (!released.has_value() || *released != release_reply::released) std::abort();
              next();
            }));
          }));
    }
  };

  asio::io_context io_{1};
  std::optional<store> store_;
  std::vector<std::unique_ptr<user>> users_;
  std::size_t left_ = 0;
  std::size_t running_ = 0;
};

bench::suite const hiredis_suite("hiredis", [](bench::report& report) {
  try {
    bench::pin_if_asked(0);
    herdlock_test::redis_server server;
    bench::pin_if_asked(1);
    herdlock_side ours(server);
    hiredis_side theirs(server);
    report.compare({.name = "hiredis.pairs_64_concurrent",
                    .unit = "pairs/s",
                    .subject = [&] { return ours.round(); },
                    .baseline = [&] { return theirs.round(); },
                    .limit = bench::at_least(1.3)});
  } catch (std::runtime_error const& why) {
    report.skip("hiredis", why.what());
  }
});

}  // namespace
