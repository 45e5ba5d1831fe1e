#include "stores/redis/hot/monitor_count.hpp"

#include <utility>

#include "algo/key_hash.hpp"
#include "stores/redis/hot/survey_parts.hpp"

namespace herdlock::redis {

monitor_count::monitor_count(wanted what)
    : what_(std::move(what)), shard_(std::make_unique<algo::hot_shard>()) {}

void monitor_count::add(std::string_view line, line_part is, command_keys const& keys) {
  ++lines_;
  auto const read = parse_monitor_line(line, most_words, is);
  if (!read) {
    ++unread_;
    return;
  }
  if (read->by_script || read->database != what_.database) return;
  if (is == line_part::beginning || read->words.size() == most_words) ++cut_;
  for (auto const& used : keys.of(read->words)) {
    if (is_own_key(used.key)) continue;
    ++uses_;
    if (!used.key.starts_with(what_.prefix)) continue;
    auto const hash = detail::key_hash(used.key, what_.seed);
    auto const uses = used.is_write ? algo::hot_uses{0, 1} : algo::hot_uses{1, 0};
    shard_->used(algo::hot_key_id::of(used.key, hash), uses);
  }
}

std::vector<surveyed_key> monitor_count::top(std::size_t most, clock::duration took) {
  std::vector<algo::hot_report> reports(algo::hot_shard::counters);
  auto const found = shard_->take(algo::hot_shard::reports(reports), algo::hot_half::goes_on);
  double const seconds = std::chrono::duration<double>(took).count();
  std::vector<surveyed_key> keys;
  for (std::size_t i = 0; i < found; ++i) {
    auto const id = reports[i].id();
    auto const bounds = shard_->bounds_of(id);
    // What came before the key had a counter of its own, at most, may all be of one kind.
    auto const before = bounds.high.reads - bounds.low.reads;
    surveyed_key one;
    one.key = id.text;
    one.cut = one.key.size() >= algo::hot_key_id::kept_bytes;
    one.low = double(bounds.low.sum()) / seconds;
    one.high = double(algo::add_up(bounds.low.sum(), before)) / seconds;
    one.rate = one.low;
    one.reads = double(bounds.low.reads) / seconds;
    one.writes = double(bounds.low.writes) / seconds;
    if (uses_ > 0) one.share = double(bounds.low.sum()) / double(uses_);
    keys.push_back(std::move(one));
  }
  keep_greatest(keys, most);
  return keys;
}

}  // namespace herdlock::redis
