// What only the SQLite store does: its file.
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "fixture.hpp"
#include "stores/sqlite/schema.hpp"
#include "stores/sqlite/sqlite_store.hpp"

namespace herdlock_test {
namespace {

store_case const sqlite{"sqlite", {}, &open_sqlite};

class sqlite_store : public testing::Test {
 protected:
  std::string path(std::string const& file = "store.db") const {
    return (scratch_ / file).string();
  }
  std::string url(std::string const& options = "") const { return "sqlite:" + path() + options; }

  static failure refusal(std::string const& text) {
    asio::io_context io;
    auto opened = open_sqlite(store_url::parse(text).value(), io.get_executor());
    EXPECT_FALSE(opened.has_value()) << text;
    if (opened) return {};
    EXPECT_EQ(opened.error().message.find('\n'), std::string::npos);
    return opened.error();
  }

  // Runs SQL on the file as another program would.
  void run(std::string const& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 10'000);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
    sqlite3_free(message);
    sqlite3_close(db);
  }

  std::int64_t count(std::string const& table) {
    sqlite3* db = nullptr;
    sqlite3_stmt* query = nullptr;
    EXPECT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
    std::string sql = "SELECT count(*) FROM " + table;
    EXPECT_EQ(sqlite3_prepare_v2(db, sql.c_str(), -1, &query, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_step(query), SQLITE_ROW);
    std::int64_t rows = sqlite3_column_int64(query, 0);
    sqlite3_finalize(query);
    sqlite3_close(db);
    return rows;
  }

  temp_dir scratch_;
  resource const stock{"stock:1"};
  cache_key const key{"product:1"};
  owner_token const alice = owner_token::generate();
  owner_token const bob = owner_token::generate();
};

TEST_F(sqlite_store, ItsFilesAreForTheirOwnerOnly) {
  client c(sqlite, url());
  c.acquire(stock, alice).value();
  for (char const* suffix : {"", "-wal", "-shm"}) {
    struct stat file {};
    ASSERT_EQ(::stat((path() + suffix).c_str(), &file), 0) << suffix;
    EXPECT_EQ(file.st_mode & 0777, 0600u) << suffix;
  }
}

TEST_F(sqlite_store, LeasesAndEntriesOutliveTheHandle) {
  fencing_token before;
  {
    client c(sqlite, url());
    before = as<grant>(c.acquire(stock, alice)).fencing;
    c.put(key, std::string("kept")).value();
  }
  client c(sqlite, url());
  EXPECT_TRUE(is<busy>(c.acquire(stock, bob)));
  EXPECT_EQ(as<grant>(c.acquire(stock, alice)).fencing, before);
  EXPECT_EQ(text_of(c.look(key)), "kept");
}

// Times from before a reboot mean nothing after it, and must not be taken for times of now.
TEST_F(sqlite_store, AfterARebootLeasesAndEntriesAreGoneAndFencingGoesOn) {
  fencing_token before;
  {
    client c(sqlite, url());
    before = as<grant>(c.acquire(stock, alice, limits::max_ttl)).fencing;
    c.put(key, std::string("old"), limits::max_ttl).value();
  }
  run("UPDATE herdlock_store SET boot_id = 'another boot'");
  client c(sqlite, url());
  EXPECT_FALSE(c.inspect(stock).value().has_value());
  EXPECT_EQ(text_of(c.look(key)), "(miss)");
  EXPECT_GT(as<grant>(c.acquire(stock, bob)).fencing, before);
}

TEST_F(sqlite_store, FencingGoesOnWhenTheFileWasDeleted) {
  fencing_token before;
  {
    client c(sqlite, url());
    before = as<grant>(c.acquire(stock, alice)).fencing;
  }
  std::filesystem::remove(path());
  client c(sqlite, url());
  EXPECT_GT(as<grant>(c.acquire(stock, bob)).fencing, before);
}

// The wall clock was set back since the last grant: tokens still go up.
TEST_F(sqlite_store, FencingDoesNotFollowAWallClockThatIsSetBack) {
  client c(sqlite, url());
  c.acquire(stock, alice).value();
  std::int64_t ahead = 4'000'000'000'000'000;
  run("UPDATE herdlock_store SET last_fencing = " + std::to_string(ahead));
  c.release(stock, alice).value();
  EXPECT_EQ(as<grant>(c.acquire(stock, bob)).fencing.value, static_cast<std::uint64_t>(ahead + 1));
}

// The same where only the row of the lease knows how far the tokens were, and after it has gone.
TEST_F(sqlite_store, FencingGoesOnFromALeaseThatWasReleasedSweptOrFromBeforeAReboot) {
  std::int64_t const ahead = 4'000'000'000'000'000;
  auto const granted_to = [this](client& c, owner_token const& owner) {
    return static_cast<std::int64_t>(
        as<grant>(c.acquire(stock, owner, limits::max_ttl)).fencing.value);
  };
  {
    client c(sqlite, url());
    EXPECT_LT(granted_to(c, alice), ahead);
    c.release(stock, alice).value();
    run("UPDATE herdlock_leases SET fencing = " + std::to_string(ahead));
    EXPECT_EQ(granted_to(c, bob), ahead + 1);
    c.release(stock, bob).value();
  }
  EXPECT_EQ(count("herdlock_leases"), 0);  // swept at the end
  {
    client c(sqlite, url());
    EXPECT_EQ(granted_to(c, alice), ahead + 2);
  }
  run("UPDATE herdlock_store SET boot_id = 'another boot'");
  client c(sqlite, url());
  EXPECT_EQ(granted_to(c, bob), ahead + 3);
}

TEST_F(sqlite_store, ANewerSchemaIsRefusedAndLeftAlone) {
  { client c(sqlite, url()); }
  run("UPDATE herdlock_store SET version = 99");
  failure why = refusal(url());
  EXPECT_TRUE(why == errc::unavailable);
  EXPECT_NE(why.message.find("99"), std::string::npos) << why.message;
  EXPECT_NE(why.message.find("update herdlock"), std::string::npos) << why.message;
}

TEST_F(sqlite_store, AMissingFolderIsNamed) {
  failure why = refusal("sqlite:" + path("no/such/store.db"));
  EXPECT_TRUE(why == errc::unavailable);
  EXPECT_NE(why.message.find("no/such/store.db"), std::string::npos) << why.message;
  EXPECT_NE(why.message.find("folder"), std::string::npos) << why.message;
}

TEST_F(sqlite_store, AFolderIsNoFile) {
  EXPECT_TRUE(refusal("sqlite:" + scratch_.path().string()) == errc::unavailable);
}

TEST_F(sqlite_store, AFileThatIsNoDatabaseIsRefusedAndLeftAlone) {
  std::string const text(5000, 'x');
  std::ofstream(path()) << text;
  failure why = refusal(url());
  EXPECT_TRUE(why == errc::unavailable);
  EXPECT_NE(why.message.find("not an SQLite database"), std::string::npos) << why.message;
  std::ifstream file(path());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
}

// As root every file is writable, so this becomes another user for its length.
class without_privileges {
 public:
  without_privileges() : as_root_(::geteuid() == 0) {
    if (as_root_) {
      EXPECT_EQ(::seteuid(65534), 0);
    }
  }
  ~without_privileges() {
    if (as_root_) {
      EXPECT_EQ(::seteuid(0), 0);
    }
  }

 private:
  bool as_root_;
};

TEST_F(sqlite_store, AFolderThatIsNotWritableIsAccessDenied) {
  std::filesystem::permissions(scratch_.path(), std::filesystem::perms(0555));
  without_privileges here;
  failure why = refusal(url());
  EXPECT_TRUE(why == errc::access_denied) << why.message;
  EXPECT_NE(why.message.find(path()), std::string::npos) << why.message;
}

TEST_F(sqlite_store, AFileThatIsNotWritableIsAccessDenied) {
  { client c(sqlite, url()); }
  std::filesystem::permissions(path(), std::filesystem::perms(0444));
  std::filesystem::permissions(scratch_.path(), std::filesystem::perms(0777));
  without_privileges here;
  failure why = refusal(url());
  EXPECT_TRUE(why == errc::access_denied) << why.message;
}

TEST_F(sqlite_store, AUrlThatMeansNothingIsRefused) {
  for (std::string text :
       {"sqlite:", "sqlite://relative/store.db", "sqlite::memory:", "sqlite:x.db?timeout=0",
        "sqlite:x.db?timeout=soon", "sqlite:x.db?network=maybe", "sqlite:x.db?colour=red",
        "sqlite:x.db?max_pending=0"}) {
    EXPECT_TRUE(refusal(text) == errc::invalid_url) << text;
  }
}

// Someone holds the write lock past our timeout: each command ends by it, naming the file, and
// reads go on.
TEST_F(sqlite_store, ALockedFileTimesOutWithItsNameWhileReadsGoOn) {
  client c(sqlite, url("?timeout=200ms"));
  c.put(key, std::string("v")).value();
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  auto blocked = c.start_acquire({stock, alice, 1min});
  EXPECT_EQ(text_of(c.look(key)), "v");
  auto reply = c.get(blocked);
  ASSERT_FALSE(reply.has_value());
  EXPECT_TRUE(reply.error() == errc::timed_out) << reply.error().message;
  EXPECT_NE(reply.error().message.find(path()), std::string::npos) << reply.error().message;
  sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(other);
  EXPECT_TRUE(is<grant>(c.acquire(stock, bob)));
}

// An open handle alone is no work, and neither is a command that its caller has given up and that
// still waits for another process.
TEST_F(sqlite_store, AnEventLoopEndsWhenNoAnswerIsExpected) {
  asio::io_context io;
  auto opened = open_sqlite(store_url::parse(url("?timeout=1h")).value(), io.get_executor());
  lease_store& store = *opened.value().leases;
  auto const ends = [&io] {
    io.restart();
    io.run_for(std::chrono::seconds(20));
    return io.stopped();
  };
  std::optional<result<acquire_reply>> first, second;
  store.acquire({stock, alice, 1min}, [&](auto reply) { first = std::move(reply); });
  ASSERT_TRUE(ends());
  EXPECT_TRUE(is<grant>(first.value()));

  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  asio::cancellation_signal stop;
  store.acquire(
      {resource("stock:2"), alice, 1min},
      asio::bind_cancellation_slot(stop.slot(), [&](auto reply) { second = std::move(reply); }));
  asio::post(io, [&] { stop.emit(asio::cancellation_type::terminal); });
  EXPECT_TRUE(ends());
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->error() == errc::canceled) << second->error().message;
  sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(other);
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

TEST_F(sqlite_store, FileSystemsOfSeveralMachinesAreKnownByTheirNumbers) {
  using sqlite::network_file_system;
  for (std::uint64_t const type : {0x6969ull, 0x517bull, 0xff534d42ull, 0xfe534d42ull,
                                   0x65735546ull, 0x01021997ull, 0xffffffffff534d42ull}) {
    EXPECT_NE(network_file_system(type), nullptr) << type;
  }
  for (std::uint64_t const local :
       {0xef53ull /* ext4 */, 0x01021994ull /* tmpfs */, 0x58465342ull /* XFS */,
        0x9123683eull /* Btrfs */, 0x794c7630ull /* overlay */, 0x2fc12fc1ull /* ZFS */}) {
    EXPECT_EQ(network_file_system(local), nullptr) << local;
  }
  EXPECT_STREQ(network_file_system(0x6969), "NFS");
  client c(sqlite, url("?network=allow"));
  EXPECT_TRUE(is<grant>(c.acquire(stock, alice)));
}

TEST_F(sqlite_store, CommandsUnderWayAreBoundedByName) {
  client c(sqlite, url("?max_pending=10"));
  std::vector<pending<acquire_reply>> all;
  for (int i = 0; i < 11; ++i) all.push_back(c.start_acquire({stock, alice, 1min}));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(is<grant>(c.get(all[i])));
  auto refused = c.get(all[10]);
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error() == errc::overloaded);
  EXPECT_NE(refused.error().message.find("max_pending"), std::string::npos);
  EXPECT_TRUE(is<grant>(c.acquire(stock, alice)));
}

TEST_F(sqlite_store, AFullFileSaysSoAndKeepsWorkingForWhatFits) {
  client c(sqlite, url("?max_bytes=1000000"));
  auto full = c.put(key, std::string(2'000'000, 'v'));
  ASSERT_FALSE(full.has_value());
  EXPECT_TRUE(full.error() == errc::unavailable);
  EXPECT_NE(full.error().message.find("max_bytes"), std::string::npos) << full.error().message;
  EXPECT_TRUE(c.put(key, std::string("small")).has_value());
}

// Leases that are abandoned and entries that expire don't pile up.
TEST_F(sqlite_store, WhatExpiredIsSweptAway) {
  client c(sqlite, url());
  for (int i = 0; i < 300; ++i) {
    c.acquire(resource("lease:" + std::to_string(i)), alice, 10ms).value();
    c.put(cache_key("entry:" + std::to_string(i)), std::string("v"), 10ms).value();
  }
  int i = 0;
  EXPECT_TRUE(eventually([&] {
    for (int more = 0; more < 64; ++more) c.renew(stock, alice).value();
    return ++i > 2 && count("herdlock_leases") == 0 && count("herdlock_entries") == 0;
  }));
}

// A process for each job: none is there for long enough to sweep now and then.
TEST_F(sqlite_store, WhatShortLivedProcessesLeaveIsSweptAway) {
  for (int i = 0; i < 5; ++i) {
    client c(sqlite, url());
    resource const job("job:" + std::to_string(i));
    c.acquire(job, alice).value();
    c.release(job, alice).value();
  }
  EXPECT_EQ(count("herdlock_leases"), 0);
}

// One sweep goes through 256 rows; the next goes on where it was.
TEST_F(sqlite_store, WhatExpiredBehindManyThatAreHeldIsSweptAwayToo) {
  client c(sqlite, url());
  constexpr int held = 600;
  for (int i = 0; i < held; ++i) c.acquire(resource("a:" + std::to_string(i)), alice).value();
  for (int i = 0; i < 10; ++i) c.acquire(resource("b:" + std::to_string(i)), alice, 10ms).value();
  EXPECT_TRUE(eventually([&] {
    for (int more = 0; more < 64; ++more) c.renew(stock, alice).value();
    return count("herdlock_leases") == held;
  }));
}

}  // namespace
}  // namespace herdlock_test
