#include "stores/sqlite/sqlite_store.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>

#include "stores/sqlite/schema.hpp"

namespace herdlock {
namespace sqlite {

namespace {

namespace fs = std::filesystem;

void check_file(fs::path const& file, examination& into) {
  fs::path const folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  std::error_code ec;
  bool const there = fs::is_directory(folder, ec);
  into.expect(there && ::access(folder.c_str(), W_OK | X_OK) == 0,
              {"sqlite.folder", severity::error,
               "the folder " + folder.string() + (there ? " is not writable" : " does not exist"),
               "SQLite cannot make its log beside the file: nothing can be locked",
               "make it, and give this user the right to write there"});
  bool const exists = fs::exists(file, ec);
  into.expect(!exists || ::access(file.c_str(), R_OK | W_OK) == 0,
              {"sqlite.file", severity::error, "the file " + file.string() + " is not writable",
               "nothing can be locked", "give this user the right to write it"});
  struct statfs about {};
  if (::statfs(there ? folder.c_str() : "/", &about) != 0) {
    return into.skip("sqlite.network", "the file system does not tell what it is");
  }
  char const* const name = network_file_system(static_cast<std::uint64_t>(about.f_type));
  into.expect(!name,
              {"sqlite.network", severity::error,
               file.string() + " is on a network file system (" + (name ? name : "") + ")",
               "its log is shared memory, which other machines do not see: they hold at once, and "
               "the file may be damaged",
               "keep it on a local disk, and use a server for several machines"});
}

void check_journal(fs::path const& file, examination& into) {
  std::error_code ec;
  if (!fs::exists(file, ec)) return into.skip("sqlite.journal", "there is no file yet");
  sqlite3* opened = nullptr;
  int const code = sqlite3_open_v2(file.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> const db(opened, &sqlite3_close);
  sqlite3_stmt* made = nullptr;
  bool const asked = code == SQLITE_OK && sqlite3_prepare_v2(opened, "PRAGMA journal_mode", -1,
                                                             &made, nullptr) == SQLITE_OK;
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> const question(made, &sqlite3_finalize);
  if (!asked || sqlite3_step(made) != SQLITE_ROW) {
    return into.find({"sqlite.database", severity::error,
                      file.string() + ": " + sqlite3_errmsg(opened), "nothing can be locked",
                      "move it away, or name another file"});
  }
  std::string const mode(reinterpret_cast<char const*>(sqlite3_column_text(made, 0)));
  into.expect(mode == "wal",
              {"sqlite.journal", severity::warning,
               file.string() + " has journal mode " + mode + ", not wal",
               "readers and writers wait for each other: looking at a lease delays its renewal",
               "let herdlock open it while nobody else has it open: it sets wal"});
}

}  // namespace
}  // namespace sqlite

result<examination> examine_sqlite(store_url url) {
  if (url.path.empty() || url.path == ":memory:") {
    return make_failure(errc::invalid_url, "store URL " + url.redacted() + ": write sqlite:PATH");
  }
  examination made;
  sqlite::check_file(url.path, made);
  sqlite::check_journal(url.path, made);
  return made;
}

}  // namespace herdlock
