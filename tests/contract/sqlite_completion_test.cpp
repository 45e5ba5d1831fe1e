// How an SQLite store's answers come: from another thread, and from a file that may go.
#include <boost/asio/strand.hpp>
#include <stdexcept>

#include "sqlite_fixture.hpp"

namespace herdlock_test {
namespace {

// Another program in the midst of a write.
class writer {
 public:
  explicit writer(std::string const& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &db_), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  }
  ~writer() { end(); }
  writer(writer const&) = delete;
  writer& operator=(writer const&) = delete;

  void end() {
    sqlite3_close(std::exchange(db_, nullptr));  // an open transaction is undone
  }

 private:
  sqlite3* db_ = nullptr;
};

// On a strand, as stores are opened by default: there a handler runs inside of what tells it.
class sqlite_completion : public sqlite_store {
 protected:
  // They are done, and told, while the loop does not run.
  void acquire_three(std::function<void(int number, result<acquire_reply>)> const& told) {
    writer other(path());
    for (int i = 0; i < 3; ++i) {
      store_.leases->acquire({resource("job:" + std::to_string(i)), alice, 1min},
                             [told, i](auto reply) { told(i, std::move(reply)); });
    }
    other.end();
    ASSERT_TRUE(eventually([&] { return count("herdlock_leases_3") == 3; }));
  }
  bool run_until(std::function<bool()> const& done) {
    io_.restart();
    auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!done() && std::chrono::steady_clock::now() < end) {
      if (io_.run_one_until(end) == 0) io_.restart();
    }
    return done();
  }

  asio::io_context io_;
  backend store_ =
      open_sqlite(store_url::parse(url("?timeout=1h")).value(), asio::make_strand(io_)).value();
};

TEST_F(sqlite_completion, AHandlerThatThrowsLosesNoOthersAnswer) {
  int granted = 0;
  acquire_three([&](int number, auto reply) {
    if (number == 0) throw std::runtime_error("a handler's own");
    if (is<grant>(reply)) ++granted;
  });
  EXPECT_THROW(run_until([] { return false; }), std::runtime_error);
  EXPECT_TRUE(run_until([&] { return granted == 2; }));
}

TEST_F(sqlite_completion, AnEventLoopThatIsRunInsideAHandlerGoesOn) {
  asio::io_context io;
  backend const mine =
      open_sqlite(store_url::parse(url("?timeout=1h")).value(), io.get_executor()).value();
  int told = 0;
  bool all_inside = false;
  writer other(path());
  for (int i = 0; i < 3; ++i) {
    mine.leases->acquire({resource("job:" + std::to_string(i)), alice, 1min}, [&, i](auto) {
      ++told;
      if (i > 0) return;
      auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (told < 3 && io.run_one_until(end) > 0) continue;
      all_inside = told == 3;
    });
  }
  other.end();
  ASSERT_TRUE(eventually([&] { return count("herdlock_leases_3") == 3; }));
  io.run();
  EXPECT_TRUE(all_inside);
}

// An open handle alone is no work, and neither is a command that its caller has given up and that
// still waits for another process. What comes of it later wakes nobody, and is in nobody's way.
TEST_F(sqlite_store, AnEventLoopEndsWhenNoAnswerIsExpected) {
  asio::io_context io;
  auto opened = open_sqlite(store_url::parse(url("?timeout=1h")).value(), io.get_executor());
  lease_store& store = *opened.value().leases;
  auto const ends = [&io] {
    io.restart();
    io.run_for(std::chrono::seconds(20));
    return io.stopped();
  };
  std::optional<result<acquire_reply>> first, second, third;
  store.acquire({stock, alice, 1min}, [&](auto reply) { first = std::move(reply); });
  ASSERT_TRUE(ends());
  EXPECT_TRUE(is<grant>(first.value()));

  writer other(path());
  asio::cancellation_signal stop;
  store.acquire(
      {resource("stock:2"), alice, 1min},
      asio::bind_cancellation_slot(stop.slot(), [&](auto reply) { second = std::move(reply); }));
  // Answered by the other worker: this one is at work by then.
  store.inspect(stock, [&](auto) { stop.emit(asio::cancellation_type::terminal); });
  EXPECT_TRUE(ends());
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->error() == errc::canceled) << second->error().message;
  store.acquire({resource("stock:3"), alice, 1min}, [&](auto reply) { third = std::move(reply); });
  other.end();
  EXPECT_TRUE(ends());
  EXPECT_TRUE(third && is<grant>(*third));
}

// A lock in a file that nobody else can find excludes nobody.
TEST_F(sqlite_store, ARemovedFileIsNoticed) {
  client c(sqlite, url());
  c.acquire(stock, alice).value();
  for (char const* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path() + suffix);
  std::optional<failure> seen;
  ASSERT_TRUE(eventually([&] {
    auto reply = c.acquire(resource("stock:2"), bob);
    if (!reply) seen = reply.error();
    return seen.has_value();
  }));
  EXPECT_TRUE(*seen == errc::unavailable) << seen->message;
  EXPECT_NE(seen->message.find("removed or replaced"), std::string::npos) << seen->message;
  EXPECT_FALSE(c.renew(stock, alice).has_value());
}

// Nor does one that waits for another process go on to write to it: the last look at the path,
// which is good for some milliseconds, was before.
TEST_F(sqlite_store, AFileThatIsRemovedEndsTheWaitForItsLock) {
  client c(sqlite, url("?timeout=1h"));
  c.acquire(resource("stock:2"), alice).value();
  writer other(path());
  auto const waits = c.start_acquire({stock, alice, 1min});
  for (char const* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path() + suffix);
  auto const reply = c.get(waits);
  ASSERT_FALSE(reply.has_value());
  EXPECT_TRUE(reply.error() == errc::unavailable) << reply.error().message;
  EXPECT_NE(reply.error().message.find("removed or replaced"), std::string::npos)
      << reply.error().message;
}

}  // namespace
}  // namespace herdlock_test
