// The rule `keep` in one cache: while a key is hot, the store is asked to lengthen the life of its
// entry, as algo/entry_keeper.hpp says.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "algo/entry_keeper.hpp"
#include "cache/fleet/rules.hpp"
#include "runtime/cache_counters.hpp"
#include "runtime/store_core.hpp"
#include "runtime/timer_queue.hpp"

namespace herdlock::runtime {

/// Keys are without the prefix of the cache. All members on the executor.
class cache_keep final : public timed, public std::enable_shared_from_this<cache_keep> {
 public:
  /// `counters` outlive it, or close() does.
  cache_keep(std::shared_ptr<store_core> home, cache_counters& counters, std::string const& prefix,
             std::shared_ptr<cache_rules> rules);
  ~cache_keep() override { timer_queue::remove(*this); }

  /// Before anything else.
  void open();
  /// A key that may be the beginning of another one is none.
  void hot(std::string_view key);
  void cooled(std::string_view key) { machine_.cooled(key); }
  void close();

 private:
  void on_due(clock::time_point now) override;
  void ask(algo::entry_keeper::question const& what);
  void answered(std::string const& key, result<bool> const& said);
  void schedule();

  std::shared_ptr<store_core> const home_;
  cache_counters& counters_;
  std::string const prefix_;
  std::shared_ptr<cache_rules> const rules_;
  algo::entry_keeper machine_;
  bool closed_ = false;
};

}  // namespace herdlock::runtime
