#include "stores/redis/hot/hotkeys_reply.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace herdlock::redis {
namespace {

// Calls `take(name, node of the value)` for each entry of a map.
template <class F>
void for_each_entry(reply const& of, std::size_t map, F take) {
  std::size_t name = map + 1;
  for (std::size_t i = 0; i + 1 < of.list_size(map) && name + 1 < of.nodes(); i += 2) {
    std::size_t const value = of.behind(name);
    take(of.text(name), value);
    name = of.behind(value);
  }
}

struct redis_numbers {
  std::int64_t ratio = 1;
  std::optional<std::int64_t> all_time, all_bytes;
  std::size_t by_time = 0, by_bytes = 0;  // their nodes; 0: there is none
  bool is_one = false;
};

redis_numbers numbers_of(reply const& answer, std::size_t map) {
  redis_numbers found;
  for_each_entry(answer, map, [&](std::string_view name, std::size_t value) {
    if (name == "tracking-active") found.is_one = true;
    if (name == "sample-ratio") found.ratio = answer.number(value).value_or(1);
    if (name == "all-commands-all-slots-us") found.all_time = answer.number(value);
    if (name == "net-bytes-all-commands-all-slots") found.all_bytes = answer.number(value);
    if (name == "by-cpu-time-us") found.by_time = value;
    if (name == "by-net-bytes") found.by_bytes = value;
  });
  return found;
}

std::optional<hotkeys_answer> read_redis(reply const& answer, std::size_t map) {
  auto const found = numbers_of(answer, map);
  if (!found.is_one) return std::nullopt;
  std::size_t const list = found.by_time != 0 ? found.by_time : found.by_bytes;
  auto const all = found.by_time != 0 ? found.all_time : found.all_bytes;
  hotkeys_answer read{hotkeys_answer::measure::share, {}};
  if (list == 0 || !all || *all <= 0) return read;
  for_each_entry(answer, list, [&](std::string_view key, std::size_t value) {
    // One of n uses was looked at, and the sums of those are told (redis#15837).
    double const sum =
        double(answer.number(value).value_or(0)) * double(std::max<std::int64_t>(found.ratio, 1));
    read.rows.push_back({std::string(key), std::clamp(sum / double(*all), 0.0, 1.0), {}});
  });
  return read;
}

std::optional<hotkeys_answer> read_valkey(reply const& answer) {
  hotkeys_answer read;
  std::size_t node = 1;
  for (std::size_t i = 0; i < answer.list_size() && node < answer.nodes(); ++i) {
    hotkeys_answer::row row;
    std::optional<std::int64_t> uses;
    for_each_entry(answer, node, [&](std::string_view name, std::size_t value) {
      if (name == "key") row.key = answer.text(value);
      if (name == "db") row.database = answer.number(value);
      if (name == "qps") uses = answer.number(value);
    });
    if (!uses || *uses < 0) return std::nullopt;
    row.value = double(*uses);
    read.rows.push_back(std::move(row));
    node = answer.behind(node);
  }
  return read;
}

}  // namespace

std::optional<hotkeys_answer> read_hotkeys(reply const& answer) {
  if (answer.too_large() || answer.empty()) return std::nullopt;
  if (answer.kind() == reply_kind::null) return hotkeys_answer{};
  if (answer.kind() != reply_kind::list) return std::nullopt;
  if (answer.list_size() == 0) return hotkeys_answer{};
  if (answer.kind(1) != reply_kind::list) return read_redis(answer, 0);
  if (auto read = read_redis(answer, 1)) return read;
  return read_valkey(answer);
}

}  // namespace herdlock::redis
