// SQL for a person who may do what the store's user may not: make the tables, grant rights on them.
// It can be pasted into psql as it stands: it has no comments, and names its schema and its user.
#pragma once

#include <string>
#include <vector>

#include "stores/postgres/settings.hpp"

namespace herdlock::postgres {

/// Whom the rights are for, and where unqualified tables are; quoted as SQL wants them.
struct table_user {
  std::string name;
  std::string schema;
};

/// Makes what is missing, and grants what the mode needs; one transaction.
std::string set_up_script(settings const& what, table_user const& user);
/// The grants alone, for tables that are there.
std::string grant_script(settings const& what, table_user const& user);
/// A query that tells whether the mode's tables and functions are there.
std::string tables_query(settings const& what);
/// What the mode uses, and with which rights.
struct needed_rights {
  std::vector<std::string> tables;     ///< SELECT, INSERT, UPDATE, DELETE
  std::vector<std::string> sequences;  ///< USAGE, UPDATE
  std::vector<std::string> functions;  ///< EXECUTE
};
needed_rights rights_of(settings const& what);

}  // namespace herdlock::postgres
