#include "stores/postgres/set_up_script.hpp"

#include <string_view>

#include "stores/postgres/session_statements.hpp"
#include "stores/postgres/table_statements.hpp"

namespace herdlock::postgres {
namespace {

bool names_schema(settings const& what) { return what.table.find('.') != std::string::npos; }

std::string schema_of(settings const& what, table_user const& user) {
  return names_schema(what) ? what.table.substr(0, what.table.find('.')) : user.schema;
}

std::string joined(std::vector<std::string> const& names) {
  std::string all;
  for (auto const& each : names) all += (all.empty() ? "" : ", ") + each;
  return all;
}

std::string in_one_step(settings const& what, table_user const& user, std::string const& made) {
  auto const path = names_schema(what) ? "" : "SET LOCAL search_path TO " + user.schema + ";\n";
  auto const needed = rights_of(what);
  auto const to = " TO " + user.name + ";\n";
  std::string text = "BEGIN;\n" + path + made;
  text += "GRANT USAGE ON SCHEMA " + schema_of(what, user) + to;
  text += "GRANT SELECT, INSERT, UPDATE, DELETE ON " + joined(needed.tables) + to;
  text += "GRANT USAGE, UPDATE ON SEQUENCE " + joined(needed.sequences) + to;
  if (!needed.functions.empty()) {
    text += "GRANT EXECUTE ON FUNCTION " + joined(needed.functions) + to;
  }
  return text + "COMMIT;\n";
}

}  // namespace

needed_rights rights_of(settings const& what) {
  needed_rights all{{}, {what.table + "_fencing"}, {}};
  if (what.mode == lock_mode::table) {
    all.tables = {what.table, what.table + "_waiters"};
    for (char const* function : {"_acquire_v3", "_renew_v1", "_release_v3", "_hand_over_v3"}) {
      all.functions.push_back(what.table + function);
    }
    return all;
  }
  all.tables = {what.table + (what.mode == lock_mode::row ? "_rows" : "_names"),
                what.table + "_unbroken"};
  if (what.session_grace > milliseconds{0}) all.tables.push_back(what.table + "_open");
  return all;
}

std::string tables_query(settings const& what) {
  return what.mode == lock_mode::table ? schema_query(what) : session_preparation(what).query;
}

std::string set_up_script(settings const& what, table_user const& user) {
  std::string made;
  if (names_schema(what)) {
    made = "CREATE SCHEMA IF NOT EXISTS " + schema_of(what, user) + ";\n";
  }
  made += what.mode == lock_mode::table ? schema_script(what) : session_preparation(what).script;
  return in_one_step(what, user, made);
}

std::string grant_script(settings const& what, table_user const& user) {
  return in_one_step(what, user, "");
}

}  // namespace herdlock::postgres
