// What the processes' caches tell each other, and their rules, in memory. Pure, as lease_table is.
//
// A report and the rules of a topic are an entry of the space each, within its bounds. Who listens
// is told on the executor of the handle through which he does.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <herdlock/report_store.hpp>
#include <herdlock/rules_store.hpp>
#include "stores/memory/deadlines.hpp"
#include "stores/memory/usage.hpp"
#include "stores/memory/waiter.hpp"

namespace herdlock::memory {

/// Who listens to a topic. Those who have gone are forgotten by the next call.
template <class Listener>
class listeners {
 public:
  void add(std::string topic, std::weak_ptr<Listener> to, std::shared_ptr<endpoint> home) {
    drop_gone();
    all_.push_back({std::move(topic), std::move(to), std::move(home)});
  }
  void leave(endpoint const& home) {
    std::erase_if(all_, [&](auto const& one) { return one.home.get() == &home; });
  }
  /// `say` is called with each of them, on its executor.
  template <class Say>
  void tell(std::string_view topic, Say const& say) {
    drop_gone();
    for (auto const& one : all_) {
      if (one.topic == topic) tell_one(one.to, *one.home, say);
    }
  }
  template <class Say>
  static void tell_one(std::weak_ptr<Listener> const& to, endpoint const& home, Say const& say) {
    asio::post(home.executor, [to, say] {
      if (auto const alive = to.lock()) say(*alive);
    });
  }

 private:
  struct listener {
    std::string topic;
    std::weak_ptr<Listener> to;
    std::shared_ptr<endpoint> home;
  };
  void drop_gone() {
    std::erase_if(all_, [](auto const& one) { return one.to.expired(); });
  }

  std::vector<listener> all_;
};

class exchange_table {
 public:
  exchange_table(deadlines& due, usage& used) : due_(due), used_(used) {}

  result<void> report(store_report what, clock::time_point now);
  void listen(std::string topic, std::weak_ptr<report_listener> to, std::shared_ptr<endpoint> home);
  /// The topics that have reports, and their texts.
  using kept_reports = std::map<std::string, std::vector<std::string>>;
  kept_reports kept() const;

  store_rules read_rules(std::string const& topic) const;
  result<std::uint64_t> write_rules(rules_change what);
  void listen_for_rules(std::string topic, std::weak_ptr<rules_listener> to,
                        std::shared_ptr<endpoint> home);

  /// Nobody listens through this handle any more.
  void leave(endpoint const& home);

 private:
  struct row {
    std::uint64_t number = 0;
    std::shared_ptr<std::string const> text;
    std::size_t bytes = 0;
    deadlines::entry end{};
  };
  using rows = std::map<std::pair<std::string, std::string>, row>;  // by topic and process

  result<rows::iterator> make_room(store_report const& what);

  deadlines& due_;
  usage& used_;
  rows reports_;
  std::map<std::string, store_rules> rules_;
  listeners<report_listener> report_listeners_;
  listeners<rules_listener> rules_listeners_;
};

}  // namespace herdlock::memory
