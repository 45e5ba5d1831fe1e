// JSON as the command prints it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace herdlock::cli {

/// For whom a command prints.
enum class output_form { text, json };

/// In one line, or with each member on its own, indented by two.
enum class json_form { line, indented };

/// Names and labels may hold any byte: what is not UTF-8 is replaced, and every control character
/// (C0, DEL, C1, those that turn the direction of writing) is escaped, so that showing it does
/// nothing to a terminal.
std::string json_text(nlohmann::ordered_json const& what, json_form form);
/// Indented, on standard output.
void print_json(nlohmann::ordered_json const& what);

}  // namespace herdlock::cli
