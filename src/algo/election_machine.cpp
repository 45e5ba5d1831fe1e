#include "algo/election_machine.hpp"

#include <algorithm>

namespace herdlock::algo {
namespace {

constexpr election_row const* find(election_state state, election_event event) {
  for (auto const& row : election_table) {
    if (row.state == state && row.event == event) return &row;
  }
  return nullptr;
}

constexpr bool has_one_answer_for_each() {
  return std::all_of(election_table.begin(), election_table.end(),
                     [](election_row const& row) { return find(row.state, row.event) == &row; });
}
static_assert(has_one_answer_for_each(), "two rows for one state and event");

}  // namespace

std::string_view to_string(election_action action) noexcept {
  constexpr std::array<std::string_view, 9> names{"none",       "acquire",   "withdraw",
                                                  "start_work", "stop_work", "rest",
                                                  "release",    "warn",      "finish"};
  return names[static_cast<std::size_t>(action)];
}

std::optional<election_row> election_machine::on(election_event event) {
  if (closed_ && event == election_event::campaign) return std::nullopt;
  election_row const* const row = find(state_, event);
  if (!row) return std::nullopt;
  state_ = row->next;
  if (row->action == election_action::acquire) ++round_;
  return *row;
}

std::optional<election_row> election_machine::on(election_event event, std::uint64_t round) {
  if (round != round_) return std::nullopt;
  return on(event);
}

std::optional<election_row> election_machine::close() {
  closed_ = true;
  return on(election_event::resign);
}

namespace {

std::string label(election_row const& row) {
  std::string text(to_string(row.event));
  if (row.action != election_action::none) text += " / " + std::string(to_string(row.action));
  return text;
}

std::string mermaid() {
  std::string text = "stateDiagram-v2\n  [*] --> idle\n";
  for (auto const& row : election_table) {
    text += "  " + std::string(to_string(row.state)) + " --> " + std::string(to_string(row.next)) +
            ": " + label(row) + "\n";
  }
  return text;
}

std::string graphviz() {
  std::string text = "digraph election {\n  node [shape=box, style=rounded];\n";
  for (auto const& row : election_table) {
    text += "  " + std::string(to_string(row.state)) + " -> " + std::string(to_string(row.next)) +
            " [label=\"" + label(row) + "\"];\n";
  }
  return text + "}\n";
}

}  // namespace
}  // namespace herdlock::algo

namespace herdlock {
inline namespace v0 {

std::string_view to_string(election_state state) noexcept {
  constexpr std::array<std::string_view, 8> names{"idle",    "acquiring",   "working", "pausing",
                                                  "waiting", "withdrawing", "cleanup", "releasing"};
  return names[static_cast<std::size_t>(state)];
}

std::string_view to_string(election_event event) noexcept {
  constexpr std::array<std::string_view, 11> names{"campaign", "granted",  "failed",  "refused",
                                                   "lost",     "finished", "stopped", "overdue",
                                                   "rested",   "resign",   "released"};
  return names[static_cast<std::size_t>(event)];
}

std::string election_diagram(diagram_format format) {
  return format == diagram_format::mermaid ? algo::mermaid() : algo::graphviz();
}

}  // namespace v0
}  // namespace herdlock
