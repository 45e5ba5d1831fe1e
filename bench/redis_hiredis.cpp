// 64 lock pairs at once over one connection, beside 64 threads of hiredis with a connection each:
// the usual way to lock in C and C++. Theirs is the documented pattern, SET NX PX and a script that
// compares and deletes; it has neither fencing nor a queue.
//
// HERDLOCK_BENCH_PIN=1 keeps the server on CPU 0 and both clients on CPU 1.
#include <hiredis/hiredis.h>

#include <barrier>
#include <support/redis_server.hpp>

#include "event_loop.hpp"

namespace {

using namespace bench;

constexpr std::size_t concurrent = crowd::usual;
constexpr std::size_t pairs_each = 64;  // of one round
constexpr std::size_t pairs = concurrent * pairs_each;
constexpr char compare_and_delete[] =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

class hiredis_side {
 public:
  explicit hiredis_side(herdlock_test::redis_server const& server)
      : script_(server.command({"SCRIPT", "LOAD", compare_and_delete})) {
    for (auto& one : connections_) {
      one = {::redisConnect("127.0.0.1", server.port()), &::redisFree};
      if (!one || one->err) throw std::runtime_error("hiredis cannot connect");
    }
  }

  /// Nanoseconds for all pairs.
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
    return nanoseconds_of([&] { gate.arrive_and_wait(); });
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
    must(fine, "hiredis got another answer");
    ::freeReplyObject(got);
  }

  std::string script_;
  std::array<std::shared_ptr<redisContext>, concurrent> connections_;
};

suite const hiredis_suite("hiredis", [](report& to) {
  auto const server = started<herdlock_test::redis_server>();
  event_loop loop;
  auto const opened = loop.open(server.url(), herdlock::executor_guard::strand);
  crowd callers(loop);
  lock_pairs ours(callers, opened);
  hiredis_side theirs(server);
  to.compare(
      "hiredis.pairs_64_concurrent", "pairs/s",
      [&] { return callers.per_second(pairs, [&](std::size_t i) { ours.take(i); }); },
      [&] { return pairs * 1e9 / theirs.round(); }, at_least(1.3));
});

}  // namespace
