#include "algo/fleet_report.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace herdlock::algo {
namespace {

constexpr std::string_view first_bytes = "hot1";

void add_bytes_of(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = bytes; i-- > 0;) {
    out += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  }
}

/// Takes numbers and texts off the front of a text; nothing more once there was too little.
class byte_reader {
 public:
  explicit byte_reader(std::string_view text) : rest_(text) {}

  std::string_view text(std::size_t bytes) {
    if (rest_.size() < bytes) good_ = false;
    if (!good_) return {};
    auto const taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    for (char const byte : text(bytes)) value = (value << 8) | static_cast<unsigned char>(byte);
    return value;
  }
  bool good() const noexcept { return good_; }
  bool at_end() const noexcept { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

bool is_plausible(fleet_key const& one) {
  bool const has_name = !one.key.empty() && one.key.size() <= fleet_report::most_key_bytes;
  return has_name && one.low <= one.high && one.high <= fleet_report::most_uses &&
         one.writes <= fleet_report::most_uses && one.kept_ms <= fleet_report::most_kept_ms;
}

}  // namespace

bool is_plausible(fleet_report const& report) {
  if (report.number == 0 || report.rest > fleet_report::most_uses) return false;
  if (report.keys.size() > fleet_report::most_keys) return false;
  std::set<std::string_view> names;
  return std::all_of(report.keys.begin(), report.keys.end(), [&](fleet_key const& one) {
    return is_plausible(one) && names.insert(one.key).second;
  });
}

std::size_t encoded_bytes(fleet_report const& report) noexcept {
  constexpr std::size_t head = 26, of_each_key = 35;
  std::size_t bytes = first_bytes.size() + head;
  for (fleet_key const& one : report.keys) bytes += of_each_key + one.key.size();
  return bytes;
}

std::string encode(fleet_report const& report) {
  std::string out(first_bytes);
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
  if (from.text(first_bytes.size()) != first_bytes) return std::nullopt;
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

}  // namespace herdlock::algo
