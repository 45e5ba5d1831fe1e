// What the demo and its worker processes say to each other, over a socket pair.
//
//   demo                      worker
//   orders (JSON)      ─────▶ opens the store
//                      ◀───── ready
//   expire (JSON)      ─────▶ (one worker) keeps the old entry, waits for its expiry
//                      ◀───── expired
//   go (JSON)          ─────▶ R requests at once
//                      ◀───── loading, when its first load is in the log
//                      ◀───── report (binary), when its loads have ended, too
//   clean_up           ─────▶ (one worker) removes the entry
//                      ◀───── cleaned
//   end of file        ─────▶ exits
//
// A worker that cannot go on sends `failed` (JSON) and exits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace herdlock::cli {

enum class frame_kind : std::uint8_t {
  orders,
  ready,
  expire,
  expired,
  go,
  loading,
  report,
  clean_up,
  cleaned,
  failed,
};

struct frame {
  frame_kind kind{};
  std::string body;
};

/// Length of the body and kind, in the machine's byte order: both ends are the same program.
struct frame_header {
  static constexpr std::size_t size = 5;
  /// A report of the largest herd is well below this.
  static constexpr std::uint32_t max_body = 64 * 1024 * 1024;

  std::uint32_t body_size = 0;
  frame_kind kind{};

  std::array<char, size> bytes() const;
  static frame_header of(std::array<char, size> const& bytes);
};

/// The frame as it is sent.
std::string pack(frame const& f);

/// Blocking ends, for the worker. read_frame: nothing at the end of file.
std::optional<frame> read_frame(int fd);
/// False when the other end is gone.
bool write_frame(int fd, frame const& f);

/// From the start of the worker's requests, in microseconds.
struct load_span {
  std::uint32_t from_us = 0;
  std::uint32_t to_us = 0;
};

/// A right answer, in microseconds from the start of the worker's requests.
struct right_answer {
  std::uint32_t at_us = 0;
  std::uint32_t is_old = 0;  ///< 1: the product as it was before the expiry
};

/// What one worker did in one expiry.
struct report {
  std::int64_t started_ns = 0;  ///< steady clock, comparable on one machine
  std::vector<right_answer> answers;
  std::uint64_t waited = 0;  ///< requests that waited for a load, of those that followed, too
  std::uint32_t errors = 0;  ///< requests that failed or got a wrong answer
  std::string first_error;
  std::vector<load_span> loads;
  std::uint64_t near_hits = 0;        ///< of the requests that came once more
  std::vector<std::string> warnings;  ///< of its stores, all so far

  /// One more; its text is kept if it is the first.
  void note_error(std::string text);

  std::string pack() const;
  /// Throws std::runtime_error when the text is not a report.
  static report unpack(std::string const& bytes);
};

}  // namespace herdlock::cli
