// What only the SQLite store does: its file.
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <support/thread_names.hpp>

#include "sqlite_fixture.hpp"
#include "stores/sqlite/schema.hpp"
#include "stores/sqlite/statements.hpp"

namespace herdlock_test {
namespace {

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

TEST_F(sqlite_store, ItsThreadsHaveNames) {
  client c(sqlite, url());
  // One operation of each thread: it has named itself by then.
  c.acquire(stock, alice).value();
  c.look(key).value();
  auto const names = thread_names();
  EXPECT_TRUE(names.contains("herdlock-read"));
  EXPECT_TRUE(names.contains("herdlock-write"));
}

// B7, B21: the first answer may have been lost, and the lease was given back in time. Nor does a
// sweep, which comes once in so many commands, make its owner believe that he lost it.
TEST_F(sqlite_store, AReleaseThatIsAskedAgainTellsItsFirstAnswer) {
  client c(sqlite, url());
  as<grant>(c.acquire(stock, alice));
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::released);
  for (int i = 0; i < herdlock::sqlite::commands_per_sweep; ++i)
    c.renew(resource("job:1"), alice).value();
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::released);
  as<grant>(c.acquire(stock, bob));
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::lost) << "another has it";
  EXPECT_EQ(c.force_release(stock).value(), release_reply::released);
  EXPECT_EQ(c.release(stock, bob).value(), release_reply::lost) << "it was taken from him";
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
        "sqlite:x.db?max_pending=0", "sqlite:x.db?max_bytes=4095"}) {
    EXPECT_TRUE(refusal(text) == errc::invalid_url) << text;
  }
}

// Someone holds the write lock past our timeout: each command ends by it, naming the file, and
// reads go on.
TEST_F(sqlite_store, ALockedFileTimesOutWithItsNameWhileReadsGoOn) {
  client c(sqlite, url("?timeout=200ms"));
  ASSERT_TRUE(eventually([&] { return c.put(key, std::string("v")).has_value(); }));
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
  EXPECT_TRUE(eventually([&] { return is<grant>(c.acquire(stock, bob)); }));
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

}  // namespace
}  // namespace herdlock_test
