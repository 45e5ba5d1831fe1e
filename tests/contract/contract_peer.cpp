// Another process, for the tests between processes. Says what it does on standard output.
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <support/eventually.hpp>

#include "stores/sqlite/sqlite_store.hpp"

namespace {

using namespace herdlock;

struct peer {
  explicit peer(std::string const& url)
      : store(open_sqlite(store_url::parse(url).value(), io.get_executor()).value()) {}

  template <class T, class Start>
  T call(Start start) {
    std::optional<result<T>> outcome;
    start(handler<T>([&](result<T> r) { outcome = std::move(r); }));
    io.restart();
    while (!outcome) io.run_one();
    return outcome->value();
  }
  acquire_reply acquire(resource const& name, owner_token const& owner, milliseconds ttl) {
    return call<acquire_reply>([&](auto done) {
      store.leases->acquire({name, owner, ttl}, std::move(done));
    });
  }
  release_reply release(resource const& name, owner_token const& owner) {
    return call<release_reply>(
        [&](auto done) { store.leases->release(name, owner, std::move(done)); });
  }

  renew_reply renew(resource const& name, owner_token const& owner) {
    return call<renew_reply>([&](auto done) {
      store.leases->renew(name, owner, std::chrono::hours(1), std::move(done));
    });
  }

  asio::io_context io;
  backend store;
};

int count(std::string const& url, std::string const& file, int rounds) {
  peer p(url);
  resource const turn("turn");
  for (int round = 0; round < rounds; ++round) {
    owner_token owner = owner_token::generate();
    bool mine = herdlock_test::eventually(std::chrono::minutes(1), [&] {
      return std::holds_alternative<grant>(p.acquire(turn, owner, std::chrono::minutes(1)));
    });
    if (!mine) return 2;
    int number = 0;
    std::ifstream(file) >> number;
    std::ofstream(file) << number + 1;
    if (p.release(turn, owner) != release_reply::released) return 3;
  }
  return 0;
}

[[noreturn]] void wait_to_be_killed() {
  while (true) ::pause();
}

int hold(std::string const& url, std::string const& name, int ttl_ms) {
  peer p(url);
  p.acquire(resource(name), owner_token::generate(), milliseconds(ttl_ms));
  std::cout << "held" << std::endl;
  wait_to_be_killed();
}

int stop_in_transaction(std::string const& path) {
  sqlite3* db = nullptr;
  if (sqlite3_open(path.c_str(), &db) != SQLITE_OK) return 2;
  char const* sql =
      "BEGIN IMMEDIATE; INSERT INTO herdlock_leases_3 "
      "VALUES (CAST('half written' AS BLOB), 'x', 1, 9223372036854775807);"
      "UPDATE herdlock_leases_3 SET owner = 'thief', fencing = fencing + 1 "
      "WHERE resource = CAST('stock:1' AS BLOB);";
  if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return 3;
  std::cout << "inside" << std::endl;
  wait_to_be_killed();
}

// A small disk of its own, if one is wanted and this process may mount it; else a bound on its
// files, which fails as a quota does.
enum class disk { small, bounded };
disk make_small_disk(std::string const& folder, std::string const& wanted) {
  char const* const how = "size=256k";
  ::signal(SIGXFSZ, SIG_IGN);
  if (wanted != "disk") return disk::bounded;
  bool const own = ::unshare(CLONE_NEWNS) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
  ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  if (own && ::mount("tmpfs", folder.c_str(), "tmpfs", 0, how) == 0) return disk::small;
  return disk::bounded;
}

void bound_files(rlim_t bytes) {
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = bytes;
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

// Others fill the disk, and what is there already has to do.
int renew_on_a_full_disk(std::string const& folder, std::string const& wanted) {
  disk const kind = make_small_disk(folder, wanted);
  peer p("sqlite:" + folder + "/store.db");
  resource const first("first");
  auto const owner = owner_token::generate();
  p.acquire(first, owner, std::chrono::hours(1));
  if (kind == disk::small) {
    std::ofstream(folder + "/ballast") << std::string(1 << 20, 'x');
  } else {
    bound_files(std::max(std::filesystem::file_size(folder + "/store.db"),
                         std::filesystem::file_size(folder + "/store.db-wal")));
  }
  int renewals = 0;
  while (renewals < 300 && p.renew(first, owner) == renew_reply::renewed) ++renewals;
  std::cout << renewals << " renewals\n";
  if (p.release(first, owner) == release_reply::released) std::cout << "released" << std::endl;
  return 0;
}

// Takes leases until the disk is full, says what it was told, makes room, and says what then.
int fill_the_disk(std::string const& folder, std::string const& wanted) {
  disk const kind = make_small_disk(folder, wanted);
  peer p("sqlite:" + folder + "/store.db");
  auto const owner = owner_token::generate();
  auto const held = std::get<grant>(p.acquire(resource("first"), owner, std::chrono::hours(1)));
  std::string const ballast = folder + "/ballast";
  if (kind == disk::small) {
    std::ofstream(ballast) << std::string(1 << 20, 'x');
  } else {
    bound_files(200 * 1024);
  }
  std::optional<failure> told;
  for (int i = 0; i < 10'000 && !told; ++i) {
    try {
      p.acquire(resource("r" + std::to_string(i)), owner, std::chrono::hours(1));
    } catch (error const& why) {
      told = failure{why.code(), why.what()};
    }
  }
  std::cout << (told ? told->message : "never full") << std::endl;
  std::filesystem::remove(ballast);
  bound_files(RLIM_INFINITY);
  auto const again = p.acquire(resource("first"), owner, std::chrono::hours(1));
  std::cout << (std::get<grant>(again).fencing == held.fencing ? "kept" : "changed") << std::endl;
  auto const more = p.acquire(resource("more"), owner, std::chrono::hours(1));
  std::cout << (std::holds_alternative<grant>(more) ? "works" : "does not") << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  std::string what = argc > 1 ? argv[1] : "";
  if (what == "count" && argc == 5) return count(argv[2], argv[3], std::stoi(argv[4]));
  if (what == "hold" && argc == 5) return hold(argv[2], argv[3], std::stoi(argv[4]));
  if (what == "stop-in-transaction" && argc == 3) return stop_in_transaction(argv[2]);
  if (what == "fill-the-disk" && argc == 4) return fill_the_disk(argv[2], argv[3]);
  if (what == "renew-on-a-full-disk" && argc == 4) return renew_on_a_full_disk(argv[2], argv[3]);
  std::cerr << "contract_peer: unknown arguments\n";
  return 64;
} catch (std::exception const& failed) {
  std::cerr << failed.what() << '\n';
  return 1;
}
