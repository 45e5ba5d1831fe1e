// Where the tables are: the server's search_path decides when the URL names no schema.
#pragma once

#include <optional>
#include <string>

#include "stores/postgres/settings.hpp"

namespace herdlock::postgres {

/// One row, for chosen_schema(); none without the tables.
std::string schema_choice_query(settings const& what);

struct chosen_schema {
  std::string schema;    ///< quoted where SQL wants it
  std::string database;  ///< likewise
  bool by_user = false;  ///< `"$user"` in the search_path chose the schema

  /// A clause: "its tables are in …".
  std::string in_words(settings const& what) const;
};

/// What follows when `"$user"` chose the schema; the way out is `qualified_option()`.
std::string consequence_of(settings const& what);
/// `table=SCHEMA.TABLE`, as the URL of all clients should say.
std::string qualified_option(settings const& what, chosen_schema const& where);

}  // namespace herdlock::postgres
