// What the caches of all processes tell each other through the file, and the rules for them.
#pragma once

#include <memory>
#include <string>

#include <herdlock/report_store.hpp>
#include <herdlock/rules_store.hpp>
#include "stores/sqlite/operations.hpp"
#include "stores/sqlite/told_poll.hpp"

namespace herdlock::sqlite {

/// All members on the executor.
class exchange final : public report_store, public rules_store {
 public:
  /// A report waits no longer than this for those who write: leases are behind it. One that is lost
  /// costs nothing, since the next one says the same.
  static constexpr milliseconds report_patience{250};

  explicit exchange(std::shared_ptr<file_operations> file);

  void report(store_report what, handler<void> done) override;
  void listen(std::string topic, std::weak_ptr<report_listener> to) override;
  void read_rules(std::string topic, handler<store_rules> done) override;
  void write_rules(rules_change what, handler<std::uint64_t> done) override;
  void listen_for_rules(std::string topic, std::weak_ptr<rules_listener> to) override;
  /// Nobody is told, so nobody is known: those who listen read the file.
  void count_listeners(std::string topic, handler<listener_count> done) override;
  void prolong(prolong_request what, handler<bool> done) override;

 private:
  std::shared_ptr<file_operations> const file_;
  std::shared_ptr<told_poll> const reports_;
  std::shared_ptr<told_poll> const rules_;
};

}  // namespace herdlock::sqlite
