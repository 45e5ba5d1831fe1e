#include "scenes/hotkey_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

namespace herdlock::cli {
namespace {

constexpr double ns_in_ms = 1e6;

// Nearest rank, and no more than the slowest.
double percentile_ms(std::array<std::uint64_t, latency_bins::size> const& took,
                     call_figures const& of, double share) {
  auto const rank = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(of.calls)));
  std::uint64_t so_far = 0;
  for (std::size_t bin = 0; bin < took.size(); ++bin) {
    so_far += took[bin];
    if (so_far >= rank && so_far > 0) {
      return std::min(latency_bins::upper_ns(bin) / ns_in_ms, of.slowest_ms);
    }
  }
  return of.slowest_ms;
}

hotkey_moment moment(hotkey_board const& board, hotkey_record::time hotkey_record::*when) {
  hotkey_moment all;
  for (std::size_t n = 0; n < board.processes(); ++n) {
    std::int64_t const at = board.process(n).*when;
    if (at == 0) continue;
    double const ms = static_cast<double>(at - board.began_ns()) / ns_in_ms;
    all.first_ms = std::min(all.first_ms.value_or(ms), ms);
    all.last_ms = std::max(all.last_ms.value_or(ms), ms);
    ++all.processes;
  }
  return all;
}

std::optional<double> asked_when_kept(hotkey_board const& board, hotkey_span loaded,
                                      hotkey_moment const& kept) {
  if (kept.processes < board.processes() || !kept.last_ms) return std::nullopt;
  auto const last = static_cast<std::size_t>(*kept.last_ms / loaded.slice_ms);
  if (last + 1 >= loaded.behind) return std::nullopt;
  auto const of = sum(board, hotkey_kind::key, last + 1, loaded.behind);
  double const seconds = static_cast<double>(loaded.behind - last - 1) * loaded.slice_ms / 1e3;
  return static_cast<double>(of.asked) / seconds;
}

std::string not_in_all(char const* what, hotkey_moment const& of, std::size_t processes) {
  return fmt::format("{} of {} processes {}", processes - of.processes, processes, what);
}

}  // namespace

call_figures sum(hotkey_board const& board, hotkey_kind kind, std::size_t first,
                 std::size_t behind) {
  call_figures all;
  std::array<std::uint64_t, latency_bins::size> took{};
  for (std::size_t n = 0; n < board.processes(); ++n) {
    for (std::size_t slice = first; slice < behind; ++slice) {
      call_record const& one = board.at(n, kind, slice);
      all.calls += one.calls;
      all.asked += one.asked;
      all.failed += one.failed;
      all.left_out += one.left_out;
      all.slowest_ms = std::max(all.slowest_ms, static_cast<double>(one.slowest_ns) / ns_in_ms);
      for (std::size_t bin = 0; bin < took.size(); ++bin) took[bin] += one.took[bin];
    }
  }
  all.p50_ms = percentile_ms(took, all, 0.5);
  all.p99_ms = percentile_ms(took, all, 0.99);
  return all;
}

hotkey_figures count(hotkey_board const& board, hotkey_span loaded) {
  hotkey_figures all;
  all.key = sum(board, hotkey_kind::key, 0, board.slices());
  all.others = sum(board, hotkey_kind::others, loaded.first, loaded.behind);
  all.found = moment(board, &hotkey_record::found_ns);
  all.kept = moment(board, &hotkey_record::kept_ns);
  all.cooled = moment(board, &hotkey_record::cooled_ns);
  for (std::size_t n = 0; n < board.processes(); ++n) {
    hotkey_record const& one = board.process(n);
    all.became_hot = std::max(all.became_hot, one.became_hot.load());
    all.reports += one.reports;
    all.store_errors += one.store_errors;
  }
  all.asked_a_second_when_kept = asked_when_kept(board, loaded, all.kept);
  return all;
}

std::vector<std::string> shortcomings(hotkey_figures const& seen, std::size_t processes,
                                      hotkey_keeping keeping) {
  std::vector<std::string> all;
  if (seen.key.left_out > seen.key.calls) {
    return {fmt::format("this machine is too slow for that --rate: {} of {} requests were left out",
                        seen.key.left_out, seen.key.left_out + seen.key.calls)};
  }
  if (seen.found.processes < processes) {
    all.push_back(not_in_all("did not find the key", seen.found, processes));
  }
  if (keeping == hotkey_keeping::can && seen.kept.processes < processes) {
    all.push_back(not_in_all("did not keep it", seen.kept, processes));
  }
  if (seen.cooled.processes < seen.found.processes) {
    all.push_back(not_in_all("did not call it cooled", seen.cooled, seen.found.processes));
  }
  if (seen.key.failed + seen.others.failed > 0) {
    all.push_back(fmt::format("{} calls had no answer", seen.key.failed + seen.others.failed));
  }
  return all;
}

}  // namespace herdlock::cli
