#include "stores/sqlite/schema.hpp"

#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>

#include "types/process_bound.hpp"

namespace herdlock::sqlite {
namespace {

// A commit costs by the pages that it writes: a lease is one row of one tree, without an index. It
// stays when it is released, as what the next fencing token rises from; the sweep, and a new boot,
// hand that on to last_fencing, from which the tokens of new rows rise.
//
// `swept` is the name behind which the next sweep begins.
//
// An entry is in one of the states of entry_kind at a time; see cache_statements.cpp. What begins
// with `refresh` is beside a value: a claim, or the error that it ended with. It counts as long as
// refresh_fencing is the entry's fencing: builds that know nothing of it write over an entry with
// another, which voids the claim for us, too.
constexpr char create_tables[] = R"(
  CREATE TABLE IF NOT EXISTS herdlock_store(
    id INTEGER PRIMARY KEY CHECK (id = 1),
    version INTEGER NOT NULL,
    boot_id TEXT NOT NULL,
    last_fencing INTEGER NOT NULL,
    swept BLOB NOT NULL DEFAULT x''
  ) STRICT;
  CREATE TABLE IF NOT EXISTS herdlock_leases_3(
    resource BLOB PRIMARY KEY NOT NULL,
    owner TEXT NOT NULL,
    fencing INTEGER NOT NULL,
    expires_us INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS herdlock_entries(
    key BLOB PRIMARY KEY NOT NULL,
    kind INTEGER NOT NULL,
    owner TEXT NOT NULL,
    fencing INTEGER NOT NULL,
    expires_us INTEGER NOT NULL,
    body BLOB NOT NULL,
    refresh_owner TEXT NOT NULL DEFAULT '',
    refresh_fencing INTEGER NOT NULL DEFAULT 0,
    refresh_us INTEGER NOT NULL DEFAULT 0,
    refresh_error BLOB
  ) STRICT;
  CREATE INDEX IF NOT EXISTS herdlock_entries_expires ON herdlock_entries(expires_us);
)";

constexpr char remember_the_sweep[] =
    "ALTER TABLE herdlock_store ADD COLUMN swept BLOB NOT NULL DEFAULT x''";

// No new version of the schema: a build that does not know the columns goes on beside us.
constexpr char make_room_for_refreshes[] = R"(
  ALTER TABLE herdlock_entries ADD COLUMN refresh_owner TEXT NOT NULL DEFAULT '';
  ALTER TABLE herdlock_entries ADD COLUMN refresh_fencing INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE herdlock_entries ADD COLUMN refresh_us INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE herdlock_entries ADD COLUMN refresh_error BLOB;
)";

// `told_us` is the time at which a report was told, and the version of rules: each grows from one
// row to the next, so who has seen one asks for those behind it, along the table's own order. A
// text under its topic is found by the index. What the rule `keep` has made of an entry's time
// stands beside the entry: new columns would have newer SQLites read the whole table under the
// write lock. Whoever writes the entry leaves it as it is: then the entry ends at another time than
// `prolonged_us`, and that is what counts. Made when the first one is written: a file in which
// nobody tells anything, or that is full, stays as it is. Builds that do not know them are not in
// the way.
constexpr char create_exchange_tables[] = R"(
  CREATE TABLE IF NOT EXISTS herdlock_reports(
    told_us INTEGER PRIMARY KEY NOT NULL,
    topic BLOB NOT NULL,
    process TEXT NOT NULL,
    number INTEGER NOT NULL,
    body BLOB NOT NULL,
    UNIQUE(topic, process)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS herdlock_rules(
    version INTEGER PRIMARY KEY NOT NULL,
    topic BLOB NOT NULL UNIQUE,
    body BLOB NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS herdlock_prolonged(
    key BLOB PRIMARY KEY NOT NULL,
    first_end_us INTEGER NOT NULL,
    prolonged_us INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
)";

// Renamed, so that a build that has the file open fails and grants nothing beside us; and not
// copied, so that it needs no room. The first builds' tree of its own for names makes no
// difference to any statement.
constexpr char take_over_leases[] = R"(
  ALTER TABLE herdlock_leases RENAME TO herdlock_leases_3;
  DROP INDEX IF EXISTS herdlock_leases_expires;
  UPDATE herdlock_store SET version = 3, last_fencing =
    max(last_fencing, (SELECT coalesce(max(fencing), 0) FROM herdlock_leases_3));
)";

// CLOCK_BOOTTIME starts anew with each boot: times from before mean nothing after it.
std::string boot_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

failure refuse(errc code, std::string const& path, std::string const& why) {
  return make_failure(code, "sqlite: " + path + " " + why);
}

failure explain_errno(int error, std::string const& path) {
  bool denied = error == EACCES || error == EPERM || error == EROFS;
  std::string way_out = error == ENOENT ? "; create its folder first" : "; choose another path";
  return refuse(denied ? errc::access_denied : errc::unavailable, path,
                std::string("cannot be created (") + std::strerror(error) + ")" + way_out);
}

char const* network_of(std::string const& path) {
  struct statfs where {};
  if (::statfs(path.c_str(), &where) != 0) return nullptr;
  return network_file_system(static_cast<std::uint64_t>(where.f_type));
}

struct file_creation {
  std::mutex alone;
};

// Only a file that did not exist is opened here: to close any descriptor of an existing one would
// drop the POSIX locks that other connections of this process hold on it. The mutex keeps another
// thread from opening it between our open and close.
failure create_file(std::string const& path) {
  std::lock_guard const lock(detail::per_process<file_creation>().alone);
  int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file >= 0) {
    ::close(file);
    return {};
  }
  if (errno != EEXIST) return explain_errno(errno, path);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return refuse(errc::unavailable, path, "is a folder; name a file in it");
  }
  return {};
}

struct file_state {
  std::int64_t version;
  std::string boot;
};

std::optional<file_state> read_state(connection& db) {
  if (!has_table(db, "herdlock_store")) return std::nullopt;
  statement row = db.prepare("SELECT version, boot_id FROM herdlock_store WHERE id = 1");
  if (!row.step()) return std::nullopt;
  return file_state{row.number(0), row.bytes(1)};
}

bool keeps_refreshes(connection& db) {
  return db.prepare("SELECT 1 FROM pragma_table_info('herdlock_entries') WHERE name = 'refresh_us'")
      .step();
}

failure check_version(std::optional<file_state> const& state, std::string const& path) {
  if (!state || (state->version >= 1 && state->version <= schema_version)) return {};
  return refuse(errc::unavailable, path,
                "has schema version " + std::to_string(state->version) +
                    ", this herdlock knows version " + std::to_string(schema_version) +
                    "; update herdlock or choose another path");
}

result<void> bring_up_to_date(connection& db) {
  std::string const now = boot_id();
  if (now.empty()) {
    return refuse(errc::unavailable, db.settings().path,
                  "cannot be used: /proc/sys/kernel/random/boot_id is not readable; mount /proc");
  }
  auto state = read_state(db);
  if (failure newer = check_version(state, db.settings().path); newer.code) return newer;
  bool const is_ours = state && state->boot == now && state->version == schema_version;
  if (is_ours && keeps_refreshes(db)) return {};
  transaction change(db);
  state = read_state(db);
  if (failure newer = check_version(state, db.settings().path); newer.code) return newer;
  bool const is_older = state && state->version < schema_version;
  if (is_older && state->version == 1) db.execute(remember_the_sweep);
  if (is_older) db.execute(take_over_leases);
  db.execute(create_tables);
  if (!keeps_refreshes(db)) db.execute(make_room_for_refreshes);
  if (!state || state->boot != now) {
    db.execute(
        "UPDATE herdlock_store SET last_fencing = max(last_fencing, (SELECT "
        "coalesce(max(fencing), 0) FROM herdlock_leases_3));"
        "DELETE FROM herdlock_leases_3; DELETE FROM herdlock_entries;");
    for (char const* const name : {"herdlock_reports", "herdlock_prolonged"}) {
      if (has_table(db, name)) db.execute(("DELETE FROM " + std::string(name)).c_str());
    }
    db.prepare(
          "INSERT INTO herdlock_store(id, version, boot_id, last_fencing) VALUES (1, ?1, ?2, 0) "
          "ON CONFLICT(id) DO UPDATE SET boot_id = excluded.boot_id")
        .bind(1, schema_version)
        .text(2, now)
        .step();
  }
  change.commit();
  return {};
}

}  // namespace

// The low 32 bits are compared: some kernels sign-extend the number.
char const* network_file_system(std::uint64_t type) {
  struct known {
    std::uint32_t type;
    char const* name;
  };
  static constexpr known all[] = {
      {0x6969, "NFS"},         {0x517b, "SMB"},        {0xff534d42, "CIFS"},
      {0xfe534d42, "SMB2"},    {0x5346414f, "AFS"},    {0x6b414653, "AFS"},
      {0x00c36400, "Ceph"},    {0x73757245, "Coda"},   {0x01021997, "9p"},
      {0x0bd00bd0, "Lustre"},  {0x47504653, "GPFS"},   {0x01161970, "GFS2"},
      {0x7461636f, "OCFS2"},   {0x564c, "NCP"},        {0x65735546, "FUSE: sshfs, GlusterFS, …"},
      {0x19830326, "BeeGFS"},  {0x786f4256, "vboxsf"}, {0xbacbacbc, "vmhgfs"},
      {0x7c7c6673, "prl_fs"},  {0xaad7aaea, "PanFS"},  {0x20030528, "OrangeFS"},
      {0xbeefdead, "StorNext"}};
  for (auto const& each : all) {
    if (each.type == static_cast<std::uint32_t>(type)) return each.name;
  }
  return nullptr;
}

bool has_table(connection& db, std::string_view name) {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?1").text(1, name).step();
}

void make_exchange_tables(connection& db) { db.execute(create_exchange_tables); }

result<std::unique_ptr<connection>> connect(file_settings const& settings) {
  auto const deadline = clock::now() + settings.timeout;
  while (true) {
    try {
      return std::make_unique<connection>(settings);
    } catch (sql_error const& error) {
      if (!error.busy() || clock::now() >= deadline) return explain(error, "open", settings);
    }
  }
}

failure prepare_file(file_settings const& settings) {
  if (failure why = create_file(settings.path); why.code) return why;
  char const* const network = network_of(settings.path);
  if (network && settings.network == network_policy::refuse) {
    return refuse(errc::unavailable, settings.path,
                  std::string("is on a network file system (") + network +
                      "), where locks and clocks of two machines differ: put it on a local disk, "
                      "use a server, or, if no other machine uses the file, say ?network=allow");
  }
  auto db = connect(settings);
  if (!db) return db.error();
  (*db)->set_deadline(clock::now() + settings.timeout);
  auto done = attempt<void>(
      **db, [] { return "open"; }, bring_up_to_date);
  return done ? failure{} : done.error();
}

}  // namespace herdlock::sqlite
