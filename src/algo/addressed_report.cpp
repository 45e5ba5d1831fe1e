#include "algo/addressed_report.hpp"

#include <cmath>
#include <utility>

#include "algo/byte_fields.hpp"

namespace herdlock::algo {
namespace {

constexpr std::string_view addressed_mark = "hrep1";
constexpr double parts_of_ratio = 1000;
constexpr clock::duration longest_cool_time = std::chrono::hours(24);

milliseconds in_whole_ms(clock::duration time) {
  return std::chrono::duration_cast<milliseconds>(time);
}

bool is_plausible(addressed_report const& one) {
  auto const& asked = one.thresholds;
  return one.prefix.size() <= limits::max_name_bytes && asked.threshold >= 1 &&
         asked.threshold <= fleet_report::most_uses && asked.cool_time <= longest_cool_time &&
         asked.most_hot >= 1 && asked.most_hot <= fleet_list::most_keys;
}

}  // namespace

std::string encode(addressed_report const& one) {
  auto const ratio =
      static_cast<std::uint64_t>(std::llround(one.thresholds.reads_per_write * parts_of_ratio));
  auto const cool_ms = in_whole_ms(one.thresholds.cool_time).count();
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
