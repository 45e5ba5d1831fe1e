#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "stores/common/client_survey.hpp"
#include "stores/sqlite/schema.hpp"
#include "stores/sqlite/settings.hpp"
#include "stores/sqlite/sqlite_store.hpp"
#include "stores/sqlite/statements.hpp"

namespace herdlock {
namespace sqlite {
namespace {

// More than any fleet on one machine has.
constexpr std::size_t most_reports = 64 * 1024;

std::vector<algo::told_row> all_reports(connection& db) {
  std::vector<algo::told_row> all;
  algo::told_rows part;
  do {
    part = reports_behind(db, part.through);
    for (auto& row : part.rows) all.push_back(std::move(row));
  } while (part.more && all.size() < most_reports);
  return all;
}

// The bytes of what is kept of each value; of one that has gone nothing is known.
void add_sizes(connection& db, std::vector<surveyed_key>& keys) {
  for (auto& one : keys) {
    statement query = db.prepare(
        "SELECT length(body) FROM herdlock_entries WHERE key = ?1 AND kind >= 2 "
        "AND expires_us > herdlock_now()");
    query.blob(1, one.key);
    if (query.step()) one.bytes = static_cast<std::uint64_t>(query.number(0));
  }
}

result<survey> survey_file(connection& db, survey_request const& request) {
  stores::client_survey made(request);
  auto const rows = all_reports(db);
  std::map<std::string_view, std::vector<std::string_view>> by_topic;
  for (auto const& row : rows) by_topic[row.topic].push_back(row.text);
  for (auto const& [topic, texts] : by_topic) {
    if (made.takes(topic)) made.add(topic, texts);
  }
  auto found = std::move(made).complete("a look at " + db.settings().path);
  if (request.with_sizes && has_table(db, "herdlock_entries")) {
    add_sizes(db, found.keys);
    found.cost += "; and at the size of " + stores::counted(found.keys.size(), "key");
  }
  return found;
}

}  // namespace
}  // namespace sqlite

result<survey> survey_sqlite(store_url url, survey_request const& request) {
  auto taken = sqlite::take_settings(url);
  if (!taken) return taken.error();
  if (request.source != survey_source::clients) return stores::needs_redis(url, request.source);
  auto& file = taken->file;
  file.access = sqlite::file_access::looks;
  std::error_code ignored;
  bool const is_there = std::filesystem::exists(file.path, ignored);
  // Without its log nobody has it open. To look into it would make the log, as this user's.
  if (!is_there || !std::filesystem::exists(file.path + "-wal", ignored)) {
    stores::client_survey none(request);
    none.note(is_there ? "no process has " + file.path + " open"
                       : file.path + " does not exist: nobody has used this store yet");
    return std::move(none).complete("a look for the file");
  }
  auto const db = sqlite::connect(file);
  if (!db) return db.error();
  (*db)->set_deadline(clock::now() + file.timeout);
  auto look = [&request](sqlite::connection& at) { return sqlite::survey_file(at, request); };
  auto found = sqlite::attempt<survey>(
      **db, [] { return "look at the reports"; }, look);
  if (found.has_value()) stores::tell_progress(request, 1);
  return found;
}

}  // namespace herdlock
