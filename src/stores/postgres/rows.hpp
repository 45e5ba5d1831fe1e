// What a statement is made of, and what it answers.
#pragma once

#include <libpq-fe.h>

#include <boost/system/result.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/backend.hpp>

namespace herdlock::postgres {

/// A value for `$n`. Bytes travel in binary, everything else as text.
struct parameter {
  enum class format { text = 0, binary = 1 };
  std::string value;
  format how = format::text;
};
inline parameter as_bytes(std::string_view value) {
  return {std::string(value), parameter::format::binary};
}
inline parameter as_number(std::int64_t value) { return {std::to_string(value)}; }
inline parameter as_text(std::string_view value) { return {std::string(value)}; }

/// A prepared statement by its name, or, with an empty name, SQL that is run once.
struct statement {
  std::string name;
  std::vector<parameter> parameters{};
  std::string sql{};
};

/// SQL with a table's name: `@` stands for it, `#` for the same without its schema.
std::string with_table(std::string_view sql, std::string const& table);

/// The rows of an answer. Row and column must exist.
class rows {
 public:
  explicit rows(PGresult* owned) : result_(owned, &PQclear) {}

  int count() const { return PQntuples(result_.get()); }
  std::string_view text(int row, int column) const;
  std::int64_t number(int row, int column) const;
  bool truth(int row, int column) const { return text(row, column) == "t"; }
  /// A bytea.
  std::string bytes(int row, int column) const;

 private:
  std::shared_ptr<PGresult> result_;
};

/// Rows of a name and whether it is held, by name: a page with the last name as its cursor, unless
/// they are fewer than `most`.
lease_page to_page(rows const& found, std::size_t most);

/// Bytes from PostgreSQL's hex form, without its `\x`.
std::string from_hex(std::string_view digits);

/// Why there is no answer. `state` is the server's SQLSTATE; empty when the connection failed.
struct sql_error {
  std::string state;
  std::string message;
  bool ends_all = false;  ///< the server has ended the session with it
};

using answer = boost::system::result<rows, sql_error>;
using on_answer = std::function<void(answer)>;

}  // namespace herdlock::postgres
