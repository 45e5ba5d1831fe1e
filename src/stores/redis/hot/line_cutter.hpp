// Lines out of what a connection brings, in pieces of any size. Of a long line its beginning.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "stores/redis/hot/monitor_line.hpp"

namespace herdlock::redis {

/// Keeps most_bytes at most, whatever comes: values of commands stand in the lines of MONITOR.
class line_cutter {
 public:
  static constexpr std::size_t most_bytes = 4096;

  /// Calls `take(line, part)` for each line that ends here, without its end.
  template <class F>
  void add(std::string_view bytes, F take) {
    while (true) {
      auto const end = bytes.find('\n');
      auto const piece = bytes.substr(0, end);
      auto const room = most_bytes - kept_.size();
      cut_ = cut_ || piece.size() > room;
      kept_.append(piece.substr(0, room));
      if (end == std::string_view::npos) return;
      bytes.remove_prefix(end + 1);
      std::string_view line = kept_;
      if (!cut_ && line.ends_with('\r')) line.remove_suffix(1);
      take(line, cut_ ? line_part::beginning : line_part::whole);
      kept_.clear();
      cut_ = false;
    }
  }

 private:
  std::string kept_;
  bool cut_ = false;
};

}  // namespace herdlock::redis
