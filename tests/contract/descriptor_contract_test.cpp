// What a program gets that the user of a store starts: a connection that it kept open would let the
// server take a dead process for a living one.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <herdlock/metrics_endpoint.hpp>
#include <herdlock/open.hpp>
#include <map>
#include <tuple>

#include "fixture.hpp"
#include "stores/common/close_on_exec.hpp"
#ifdef HERDLOCK_REDIS
#include <support/redis_server.hpp>

#include "stores/redis/redis_store.hpp"
#endif

namespace herdlock_test {
namespace {

/// By its number: what each descriptor of this process leads to.
std::map<int, std::string> descriptors() {
  std::map<int, std::string> found;
  for (auto const& one : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    auto const kind = std::filesystem::read_symlink(one.path(), gone);
    if (!gone) found.emplace(std::stoi(one.path().filename()), kind.string());
  }
  return found;
}

std::ptrdiff_t sockets() {
  return std::ranges::count_if(descriptors(),
                               [](auto const& one) { return one.second.starts_with("socket:"); });
}

/// What a descriptor is of, also after its file has been renamed or removed.
using opened_file = std::tuple<int, dev_t, ino_t>;

/// Those that a started program would get, with what they lead to.
std::map<opened_file, std::string> handed_on() {
  std::map<opened_file, std::string> found;
  for (auto const& [number, kind] : descriptors()) {
    int const flags = ::fcntl(number, F_GETFD);
    struct stat file {};
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0 && ::fstat(number, &file) == 0) {
      found.emplace(opened_file(number, file.st_dev, file.st_ino), kind);
    }
  }
  return found;
}

std::map<opened_file, std::string> const at_the_start = handed_on();

std::string handed_on_since() {
  std::string all;
  for (auto const& [file, kind] : handed_on()) {
    if (!at_the_start.contains(file))
      all += std::to_string(std::get<int>(file)) + " " + kind + "\n";
  }
  return all;
}

class descriptor_contract : public store_contract {
 protected:
  resource const stock{"stock:1"};
  cache_key const key{"key:1"};

  // A connection that is being made is marked one turn later, where a library makes it.
  void expect_none(client& other, char const* when) {
    bool const none = c.run_until([&] {
      int turns = 0;
      other.run_until([&] { return ++turns > 2; });
      return handed_on_since().empty();
    });
    EXPECT_TRUE(none) << when << ":\n" << handed_on_since();
  }

  // Not every store tells who waits.
  void settle_until_it_waits(client& waiter) {
    constexpr int most = 200;
    bool waits = !GetParam().queues;
    for (int i = 0; i < most && !waits; ++i) {
      waits = waiter.inspect(stock).value()->waiting > 0;
    }
  }

  // Commands, a wait and a push: with all the connections that they take.
  void use_it() {
    auto const waiter = another();
    as<grant>(c.acquire(stock, alice));
    auto const bobs = waiter->start_acquire({stock, bob, 1min, 1min});
    settle_until_it_waits(*waiter);
    if (GetParam().keeps_values) {
      as<claimed>(c.claim(key, alice));
      auto const watching = waiter->start_watch({key, 1min});
      EXPECT_EQ(c.fill(key, alice, std::string("v")).value(), fill_reply::stored);
      EXPECT_TRUE(waiter->get(watching).has_value());
    }
    expect_none(*waiter, "in use");
    EXPECT_EQ(c.release(stock, alice).value(), release_reply::released);
    EXPECT_TRUE(waiter->get(bobs).has_value());
    expect_none(*waiter, "after a hand-over");
  }
};

// ZooKeeper's C client neither marks its sockets nor tells them. It is the pings of a process that
// keep its session alive, not its connection.
bool marks_its_sockets(store_case const& kind) { return !kind.name.starts_with("zookeeper"); }
INSTANTIATE_TEST_SUITE_P(stores, descriptor_contract,
                         testing::ValuesIn(stores_that(marks_its_sockets)), case_name);

TEST_P(descriptor_contract, AProgramThatIsStartedGetsNoneOfTheStores) { use_it(); }

#ifdef HERDLOCK_REDIS
TEST(descriptors, OfAUnixSocketAndTheWayToItAreHandedOnToNobody) {
  redis_server const server({.unix_socket = redis_unix_socket::on});
  store_case const kind{.name = "redis_unix", .url = {}, .open = &open_redis};
  client c(kind, server.unix_url());
  EXPECT_TRUE(is<grant>(c.acquire(resource("stock:1"), owner_token::generate())));
  EXPECT_TRUE(c.run_until([] { return handed_on_since().empty(); })) << handed_on_since();
}
#endif

TEST(descriptors, ThePortOfTheMetricsAndItsCallersAreHandedOnToNobody) {
  asio::io_context io;
  auto const before = sockets();
  auto const where = serve_metrics(io.get_executor(), 0, {open_store("memory:")});
  asio::ip::tcp::socket asking(io);
  ASSERT_FALSE(stores::open_close_on_exec(asking, asio::ip::tcp::v4()));
  asking.connect({asio::ip::address_v4::loopback(), where.port()});
  ASSERT_TRUE(eventually([&] {
    io.poll();
    return sockets() == before + 3;
  })) << "it is not accepted";
  EXPECT_EQ(handed_on_since(), "");
}

}  // namespace
}  // namespace herdlock_test
