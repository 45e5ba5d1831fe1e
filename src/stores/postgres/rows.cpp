#include "stores/postgres/rows.hpp"

#include "stores/common/numbers.hpp"

namespace herdlock::postgres {

std::string with_table(std::string_view sql, std::string const& table) {
  std::string out;
  for (char const c : sql) {
    if (c == '@')
      out += table;
    else if (c == '#')
      out += table.substr(table.find('.') + 1);
    else
      out += c;
  }
  return out;
}

std::string_view rows::text(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t rows::number(int row, int column) const {
  return whole_number<std::int64_t>(text(row, column)).value_or(0);
}

std::string rows::bytes(int row, int column) const {
  auto const hex = text(row, column);
  return hex.starts_with("\\x") ? from_hex(hex.substr(2)) : std::string();
}

lease_page to_page(rows const& found, std::size_t most) {
  lease_page page;
  for (int i = 0; i < found.count(); ++i) {
    if (found.truth(i, 1)) page.names.emplace_back(found.bytes(i, 0));
  }
  auto const count = static_cast<std::size_t>(found.count());
  if (count == most) page.cursor = found.bytes(found.count() - 1, 0);
  return page;
}

std::string from_hex(std::string_view digits) {
  std::string out;
  out.reserve(digits.size() / 2);
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    out += static_cast<char>(whole_number<unsigned>(digits.substr(i, 2), 16).value_or(0));
  }
  return out;
}

}  // namespace herdlock::postgres
