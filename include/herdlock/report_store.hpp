// The port of a store over which the processes that share it tell each other what they know. For
// those who write a store. The rules at the top of herdlock/backend.hpp hold here, too.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/backend.hpp>

namespace herdlock {
inline namespace v0 {

/// The newest word of one process on a topic; each replaces the one before.
struct store_report {
  std::string topic;
  std::string process;       ///< a random name of its own
  std::uint64_t number = 0;  ///< grows from report to report
  std::string text;          ///< any bytes
};

/// Called on the executor.
class report_listener {
 public:
  virtual ~report_listener() = default;
  /// A report may come late, or twice; one's own come, too.
  virtual void on_report(std::string_view text) = 0;
  /// A store that pushes tells from now on what is told to others.
  virtual void on_listening() {}
  /// Until on_listening() is called again that is lost.
  virtual void on_deaf() {}
};

class report_store {
 public:
  /// A report is kept for so long at least, and twice that at most, when its process has gone.
  static constexpr milliseconds keeps_for{5000};

  virtual ~report_store() = default;

  /// Whether the store itself sends each report to each who listens, so that n processes which all
  /// listen to all cost it n * n messages. Then one of them listens, and sums up for all.
  virtual bool pushes() const { return false; }

  /// Tells a report to all who listen, and keeps it for those who will. Nothing happens if it is no
  /// newer than the one that is there. Not cancellable.
  virtual void report(store_report what, handler<void> done) = 0;
  /// Tells the reports of the topic that are kept, and each that comes; should one be missed, it
  /// tells all again. A listener that has gone hears nothing more.
  virtual void listen(std::string topic, std::weak_ptr<report_listener> to) = 0;
  /// The reports of the topic that are kept. Only asked of stores that push.
  virtual void read(std::string topic, handler<std::vector<std::string>> done) {
    static_cast<void>(topic);
    std::move(done)(std::vector<std::string>());
  }
};

}  // namespace v0
}  // namespace herdlock
