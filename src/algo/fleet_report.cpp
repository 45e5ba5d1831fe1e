#include "algo/fleet_report.hpp"

#include <utility>

#include "algo/byte_fields.hpp"
#include "algo/fleet_list.hpp"

namespace herdlock::algo {
namespace {

constexpr std::string_view report_mark = "hot1";

bool is_plausible(fleet_key const& one) {
  bool const has_name = !one.key.empty() && one.key.size() <= fleet_report::most_key_bytes;
  return has_name && one.low <= one.high && one.high <= fleet_report::most_uses &&
         one.writes <= fleet_report::most_uses && one.kept_ms <= fleet_report::most_kept_ms;
}

constexpr std::string_view addressed_mark = "hrep1";
constexpr double parts_of_ratio = 1000;
constexpr clock::duration longest_cool_time = std::chrono::hours(24);

bool is_plausible(addressed_report const& one) {
  auto const& asked = one.thresholds;
  return one.prefix.size() <= limits::max_name_bytes && asked.threshold >= 1 &&
         asked.threshold <= fleet_report::most_uses && asked.cool_time <= longest_cool_time &&
         asked.most_hot >= 1 && asked.most_hot <= fleet_list::most_keys;
}

}  // namespace

bool is_plausible(fleet_report const& report) {
  if (report.number == 0 || report.rest > fleet_report::most_uses) return false;
  if (report.keys.size() > fleet_report::most_keys) return false;
  auto const is_sound = [](fleet_key const& one) { return is_plausible(one); };
  return std::all_of(report.keys.begin(), report.keys.end(), is_sound) && are_distinct(report.keys);
}

std::size_t encoded_bytes(fleet_report const& report) noexcept {
  constexpr std::size_t head = 26, of_each_key = 35;
  std::size_t bytes = report_mark.size() + head;
  for (fleet_key const& one : report.keys) bytes += of_each_key + one.key.size();
  return bytes;
}

std::string encode(fleet_report const& report) {
  std::string out(report_mark);
  add_bytes_of(out, report.process, 8);
  add_bytes_of(out, report.number, 8);
  add_bytes_of(out, report.rest, 8);
  add_bytes_of(out, report.keys.size(), 2);
  for (fleet_key const& one : report.keys) {
    add_bytes_of(out, one.key.size(), 2);
    out += one.key;
    add_bytes_of(out, one.low, 8);
    add_bytes_of(out, one.high, 8);
    add_bytes_of(out, one.writes, 8);
    add_bytes_of(out, one.hot ? 1 : 0, 1);
    add_bytes_of(out, one.kept_ms, 8);
  }
  return out;
}

std::optional<fleet_report> decode_report(std::string_view text) {
  byte_reader from(text);
  if (from.text(report_mark.size()) != report_mark) return std::nullopt;
  fleet_report report;
  report.process = from.number(8);
  report.number = from.number(8);
  report.rest = from.number(8);
  auto const keys = from.number(2);
  if (keys > fleet_report::most_keys) return std::nullopt;
  for (std::uint64_t i = 0; i < keys && from.good(); ++i) {
    fleet_key one;
    one.key = from.text(from.number(2));
    one.low = from.number(8);
    one.high = from.number(8);
    one.writes = from.number(8);
    auto const flags = from.number(1);
    if (flags > 1) return std::nullopt;
    one.hot = flags == 1;
    one.kept_ms = from.number(8);
    report.keys.push_back(std::move(one));
  }
  if (!from.at_end() || !is_plausible(report)) return std::nullopt;
  return report;
}

std::string encode(addressed_report const& one) {
  auto const ratio = static_cast<std::uint64_t>(one.thresholds.reads_per_write * parts_of_ratio);
  auto const cool_ms = std::chrono::duration_cast<milliseconds>(one.thresholds.cool_time).count();
  std::string out(addressed_mark);
  add_bytes_of(out, one.prefix.size(), 2);
  out += one.prefix;
  add_bytes_of(out, one.thresholds.threshold, 8);
  add_bytes_of(out, ratio, 8);
  add_bytes_of(out, static_cast<std::uint64_t>(cool_ms), 4);
  add_bytes_of(out, one.thresholds.most_hot, 2);
  return out + encode(one.report);
}

std::optional<addressed_report> decode_addressed_report(std::string_view text) {
  byte_reader from(text);
  if (from.text(addressed_mark.size()) != addressed_mark) return std::nullopt;
  addressed_report one;
  one.prefix = from.text(from.number(2));
  one.thresholds.threshold = from.number(8);
  one.thresholds.reads_per_write = double(from.number(8)) / parts_of_ratio;
  one.thresholds.cool_time = milliseconds(static_cast<milliseconds::rep>(from.number(4)));
  one.thresholds.most_hot = from.number(2);
  if (!from.good() || !is_plausible(one)) return std::nullopt;
  auto report = decode_report(from.rest());
  if (!report) return std::nullopt;
  one.report = *std::move(report);
  return one;
}

}  // namespace herdlock::algo
