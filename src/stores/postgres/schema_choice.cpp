#include "stores/postgres/schema_choice.hpp"

namespace herdlock::postgres {
namespace {

std::string first_table(settings const& what) {
  constexpr char const* behind[] = {"", "_names", "_rows"};
  return what.table + behind[static_cast<std::size_t>(what.mode)];
}

}  // namespace

std::string schema_choice_query(settings const& what) {
  bool const named = what.table.find('.') != std::string::npos;
  std::string const by_user =
      named
          ? "false"
          : "n.nspname = current_user AND position('$user' in current_setting('search_path')) > 0";
  return "SELECT quote_ident(n.nspname), quote_ident(current_database()), " + by_user +
         " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = "
         "to_regclass('" +
         first_table(what) + "')";
}

std::string chosen_schema::in_words(settings const& what) const {
  std::string text = "its tables are in the schema " + schema + " of the database " + database;
  if (by_user) text += ", which \"$user\" in the search_path chose";
  if (what.mode == lock_mode::advisory) text += "; its advisory locks are that database's";
  return text;
}

std::string consequence_of(settings const& what) {
  return what.mode == lock_mode::advisory
             ? "other users draw their fencing tokens from another sequence, and nobody can "
               "compare "
               "them with ours"
             : "other users look for the tables elsewhere: they and we hold the same lock at once";
}

std::string qualified_option(settings const& what, chosen_schema const& where) {
  return "table=" + where.schema + "." + what.table;
}

}  // namespace herdlock::postgres
