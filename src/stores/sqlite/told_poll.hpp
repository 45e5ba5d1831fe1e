// What others write, for those who listen: SQLite pushes nothing, so the file is asked again and
// again, as long as somebody listens.
// Why: docs/stores/sqlite.md#what-caches-tell-is-polled
#pragma once

#include <boost/asio/basic_waitable_timer.hpp>
#include <memory>

#include "algo/told_listeners.hpp"
#include "stores/sqlite/operations.hpp"

namespace herdlock::sqlite {

struct poll_settings {
  char const* verb;    ///< "ask for the reports"
  milliseconds pause;  ///< between an answer and the next question
  algo::told_rows (*rows_behind)(connection& db, std::int64_t from);
};

/// All members on the executor. It ends with its last reference.
class told_poll : public std::enable_shared_from_this<told_poll> {
 public:
  told_poll(std::shared_ptr<file_operations> const& file, poll_settings const& how)
      : file_(file), how_(how), timer_(file->executor()) {}

  /// And asks at once for what is there already.
  void listen(algo::told_listeners::listener one);

 private:
  enum class question { whole, if_changed };
  struct found_rows {
    algo::told_rows rows;
    std::int64_t version;  // of the file that they are from
  };
  static constexpr std::int64_t no_version = -1;

  void ask(question what);
  void send(question what);
  void answered(result<found_rows> found);
  void ask_later();

  std::weak_ptr<file_operations> const file_;
  poll_settings const how_;
  asio::basic_waitable_timer<clock> timer_;
  algo::told_listeners listeners_;
  std::int64_t heard_ = no_version;  // all of that version
  bool asking_ = false;
  bool somebody_came_ = false;  // while it asked
};

}  // namespace herdlock::sqlite
