#include "algo/fleet_list.hpp"

#include <utility>

#include "algo/byte_fields.hpp"

namespace herdlock::algo {
namespace {

// No report has it: an older version takes a list for nothing.
constexpr std::string_view list_mark = "hlst1";

bool is_plausible(fleet_sum const& one, fleet_list const& list) {
  bool const has_name = !one.key.empty() && one.key.size() <= fleet_report::most_key_bytes;
  return has_name && one.low <= one.high && one.processes <= list.processes &&
         one.kept_by <= one.processes && one.kept_ms <= fleet_report::most_kept_ms;
}

}  // namespace

bool is_plausible(fleet_list const& list) {
  if (list.number.term == 0 || list.number.counter == 0) return false;
  if (list.number.term >= fleet_list::terms_end) return false;
  if (list.processes > fleet_list::most_processes) return false;
  if (list.pause_ms > fleet_list::most_pause_ms) return false;
  if (list.keys.size() > fleet_list::most_keys) return false;
  auto const is_sound = [&](fleet_sum const& one) { return is_plausible(one, list); };
  return std::all_of(list.keys.begin(), list.keys.end(), is_sound) && are_distinct(list.keys);
}

std::size_t encoded_bytes(fleet_sum const& one) noexcept {
  constexpr std::size_t fields = 43;
  return fields + one.key.size();
}

std::size_t encoded_bytes(fleet_list const& list) noexcept {
  constexpr std::size_t head = 34;
  std::size_t bytes = list_mark.size() + head;
  for (fleet_sum const& one : list.keys) bytes += encoded_bytes(one);
  return bytes;
}

std::string encode(fleet_list const& list) {
  std::string out(list_mark);
  add_bytes_of(out, list.number.term, 8);
  add_bytes_of(out, list.number.counter, 8);
  add_bytes_of(out, list.processes, 4);
  add_bytes_of(out, list.pause_ms, 4);
  add_bytes_of(out, list.options, 8);
  add_bytes_of(out, list.keys.size(), 2);
  for (fleet_sum const& one : list.keys) {
    add_bytes_of(out, one.key.size(), 2);
    out += one.key;
    add_bytes_of(out, one.low, 8);
    add_bytes_of(out, one.high, 8);
    add_bytes_of(out, one.writes, 8);
    add_bytes_of(out, one.processes, 4);
    add_bytes_of(out, one.kept_by, 4);
    add_bytes_of(out, one.kept_ms, 8);
    add_bytes_of(out, one.hot ? 1 : 0, 1);
  }
  return out;
}

std::optional<fleet_list> decode_fleet_list(std::string_view text) {
  byte_reader from(text);
  if (from.text(list_mark.size()) != list_mark) return std::nullopt;
  fleet_list list;
  list.number.term = from.number(8);
  list.number.counter = from.number(8);
  list.processes = from.number(4);
  list.pause_ms = from.number(4);
  list.options = from.number(8);
  auto const keys = from.number(2);
  if (keys > fleet_list::most_keys) return std::nullopt;
  for (std::uint64_t i = 0; i < keys && from.good(); ++i) {
    fleet_sum one;
    one.key = from.text(from.number(2));
    one.low = from.number(8);
    one.high = from.number(8);
    one.writes = from.number(8);
    one.processes = from.number(4);
    one.kept_by = from.number(4);
    one.kept_ms = from.number(8);
    auto const flags = from.number(1);
    if (flags > 1) return std::nullopt;
    one.hot = flags == 1;
    list.keys.push_back(std::move(one));
  }
  if (!from.at_end() || !is_plausible(list)) return std::nullopt;
  return list;
}

}  // namespace herdlock::algo
