// What `herdlock demo near` shows: a line for each change while it runs, and the figures. Throws
// command_error (internal) when nobody takes it.
#pragma once

#include <cstdint>
#include <string>

#include "scenes/near_judge.hpp"
#include "scenes/near_options.hpp"
#include "terminal/progress_line.hpp"

namespace herdlock::cli {

class near_teller {
 public:
  /// Both outlive it.
  near_teller(near_options const& options, near_board const& board)
      : options_(options), board_(board) {}

  /// The changes begin.
  void begin(std::int64_t now_ns);
  /// What the changes look like that have been followed by another since the last call.
  void follow(std::int64_t now_ns);
  /// The same for those that nothing has followed yet.
  void catch_up(std::int64_t now_ns);
  void frozen(std::int64_t now_ns);
  void thawed(std::int64_t now_ns);

  /// Both are the last that is written.
  void figures(near_figures const& seen) const;
  void json(near_figures const& seen, near_freeze const& freeze);

 private:
  void row(std::int64_t change, std::int64_t now_ns);
  std::string cell(std::size_t reader, std::int64_t change, std::int64_t now_ns) const;
  void event(std::int64_t now_ns, char const* what);
  double since_begin_ms(std::int64_t at_ns) const;

  near_options const& options_;
  near_board const& board_;
  progress_line progress_;
  std::int64_t began_ns_ = 0;
  std::int64_t told_ = 0;  ///< the change whose line was the last one
};

}  // namespace herdlock::cli
