#include "scenes/hotkey_board.hpp"

#include <algorithm>
#include <cmath>

namespace herdlock::cli {
namespace latency_bins {
namespace {

constexpr double shortest_ns = 64;
constexpr double bins_of_a_doubling = 8;

}  // namespace

std::size_t of(std::int64_t ns) {
  auto const time = std::max(static_cast<double>(ns), shortest_ns);
  auto const bin = std::ceil(bins_of_a_doubling * std::log2(time / shortest_ns));
  return std::min(static_cast<std::size_t>(bin), size - 1);
}

double upper_ns(std::size_t bin) {
  return shortest_ns * std::exp2(static_cast<double>(bin) / bins_of_a_doubling);
}

}  // namespace latency_bins

hotkey_board::hotkey_board(std::size_t processes, std::size_t slices, std::int64_t slice_ns)
    : slices_(slices),
      slice_ns_(slice_ns),
      head_(1),
      records_(processes),
      calls_(processes * 2 * slices) {}

call_record* hotkey_board::at(std::size_t process, hotkey_kind kind, std::int64_t time_ns) {
  auto const since = time_ns - began_ns();
  if (since < 0) return nullptr;
  auto const slice = static_cast<std::size_t>(since / slice_ns_);
  return slice < slices_ ? &calls_[index(process, kind, slice)] : nullptr;
}

}  // namespace herdlock::cli
