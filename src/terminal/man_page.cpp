#include <fmt/format.h>

#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cctype>
#include <herdlock/version.hpp>
#include <memory>

#include "terminal/manual.hpp"

namespace herdlock::cli {
namespace {

// The code point that begins here, and its length; text of ours is valid UTF-8.
std::pair<unsigned, std::size_t> code_point(std::string_view text) {
  auto const byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  std::size_t const length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (text.size() < length) return {'?', text.size()};
  unsigned value = byte(0) & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) value = value << 6 | (byte(i) & 0x3fU);
  return {value, length};
}

// Text that means nothing to roff, in ASCII, which every roff takes.
std::string plain(std::string_view text) {
  std::string out;
  bool line_begins = true;
  while (!text.empty()) {
    char const c = text.front();
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    line_begins = c == '\n';
    std::size_t length = 1;
    if (static_cast<unsigned char>(c) >= 0x80) {
      auto const [value, bytes] = code_point(text);
      out += fmt::format("\\[u{:04X}]", value);
      length = bytes;
    } else if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string in_one_paragraph(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string usage_of(CLI::App const& app, std::string const& path) {
  auto const form = std::dynamic_pointer_cast<CLI::Formatter>(app.get_formatter());
  std::string line = form ? form->make_usage(&app, path) : path;
  constexpr std::string_view head = "Usage: ";
  if (line.starts_with(head)) line.erase(0, head.size());
  while (!line.empty() && line.back() == '\n') line.pop_back();
  return line;
}

std::string option_head(CLI::Option const& option) {
  std::string names;
  for (auto const& name : option.get_snames()) {
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", plain("-" + name));
  }
  for (auto const& name : option.get_lnames()) {
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", plain("--" + name));
  }
  if (names.empty()) return "\\fI" + plain(option.get_name(true)) + "\\fR";
  bool const takes_a_value = option.get_items_expected_max() > 0;
  if (takes_a_value) names += " \\fI" + plain(option.get_type_name()) + "\\fR";
  return names;
}

std::string option_text(CLI::Option const& option) {
  std::string text = in_one_paragraph(option.get_description()) + ".";
  if (!option.get_default_str().empty()) {
    text += fmt::format(" Default: {}.", option.get_default_str());
  }
  if (!option.get_envname().empty()) text += fmt::format(" Also {}.", option.get_envname());
  return plain(text);
}

// What --help says in lines of its own, as it stands there.
std::string as_it_stands(std::string const& text) {
  if (text.empty()) return {};
  return ".PP\n.nf\n" + plain(text.front() == '\n' ? text.substr(1) : text) + "\n.fi\n";
}

std::string command_section(command_node const& node) {
  std::string text = fmt::format(".SS \"{}\"\n{}.\n.PP\n\\fB{}\\fR\n", plain(node.path),
                                 plain(in_one_paragraph(node.app->get_description())),
                                 plain(usage_of(*node.app, node.path)));
  for (CLI::Option const* each : node.app->get_options()) {
    if (each->get_group().empty()) continue;
    text += fmt::format(".TP\n{}\n{}\n", option_head(*each), option_text(*each));
  }
  return text + as_it_stands(node.app->get_footer());
}

void collect(CLI::App const& at, std::string const& path, std::vector<command_node>& into) {
  auto const below =
      at.get_subcommands([](CLI::App const* one) { return !one->get_group().empty(); });
  into.push_back({path, &at, below});
  for (CLI::App const* one : below) collect(*one, path + " " + one->get_name(), into);
}

}  // namespace

bool command_node::acts() const {
  // A group that only lists its commands has no option but --help.
  return below.empty() || (app->get_parent() != nullptr && app->get_options().size() > 1);
}

std::vector<command_node> commands_of(CLI::App const& root) {
  std::vector<command_node> all;
  collect(root, root.get_name(), all);
  return all;
}

std::string list_of_commands(CLI::App const& root) {
  std::string text;
  for (auto const& each : commands_of(root)) {
    if (each.acts()) text += each.path + "\n";
  }
  return text;
}

std::string man_page(CLI::App const& root) {
  std::string const& name = root.get_name();
  std::string head = name;
  for (char& c : head) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string does = in_one_paragraph(root.get_description());
  if (does.starts_with(name + ": ")) does.erase(0, name.size() + 2);
  std::string text = fmt::format(
      ".TH {} 1 \"\" \"{} {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.nf\n", head,
      name, version, plain(name), plain(does));
  std::string sections;
  for (auto const& each : commands_of(root)) {
    if (!each.acts()) continue;
    text += plain(usage_of(*each.app, each.path)) + "\n";
    sections += command_section(each);
  }
  return text + ".fi\n.SH DESCRIPTION\n" + plain(does) + "\n" + as_it_stands(root.get_footer()) +
         ".SH COMMANDS\n" + sections;
}

}  // namespace herdlock::cli
