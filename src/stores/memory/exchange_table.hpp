// What the processes' caches tell each other, and their rules, in memory. Pure, as lease_table is.
//
// A report and the rules of a topic are an entry of the space each, within its bounds. Who listens
// is told on the executor of the handle through which he does.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
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

/// What a listener is to be told on its executor: of each sender the last word, so that an executor
/// that stands still gathers no more than that. Any thread.
template <class Listener, class Message>
class mailbox : public std::enable_shared_from_this<mailbox<Listener, Message>> {
 public:
  using say = void (*)(Listener& to, Message const& what);

  mailbox(std::weak_ptr<Listener> to, say how) : to_(std::move(to)), say_(how) {}

  bool gone() const { return to_.expired(); }
  void put(std::string const& sender, Message what, endpoint const& home) {
    std::lock_guard const lock(mutex_);
    last_.insert_or_assign(sender, std::move(what));
    if (posted_) return;
    asio::post(home.executor, [self = this->shared_from_this()] { self->deliver(); });
    posted_ = true;
  }

 private:
  void deliver() {
    std::map<std::string, Message> all;
    {
      std::lock_guard const lock(mutex_);
      all.swap(last_);
      posted_ = false;
    }
    for (auto const& [sender, what] : all) {
      if (auto const alive = to_.lock()) say_(*alive, what);
    }
  }

  std::weak_ptr<Listener> const to_;
  say const say_;
  std::mutex mutex_;
  std::map<std::string, Message> last_;
  bool posted_ = false;
};

/// Who listens to a topic. Those who have gone are forgotten by the next call.
template <class Listener, class Message>
class listeners {
 public:
  using box = std::shared_ptr<mailbox<Listener, Message>>;

  void add(std::string topic, box to, std::shared_ptr<endpoint> home) {
    drop_gone();
    all_.push_back({std::move(topic), std::move(to), std::move(home)});
  }
  void leave(endpoint const& home) {
    std::erase_if(all_, [&](auto const& one) { return one.home.get() == &home; });
  }
  /// Handles through which somebody listens.
  std::uint64_t count(std::string_view topic) {
    drop_gone();
    std::set<endpoint const*> homes;
    for (auto const& one : all_) {
      if (one.topic == topic) homes.insert(one.home.get());
    }
    return homes.size();
  }
  void tell(std::string_view topic, std::string const& sender, Message const& what) {
    drop_gone();
    for (auto const& one : all_) {
      if (one.topic == topic) one.to->put(sender, what, *one.home);
    }
  }

 private:
  struct listener {
    std::string topic;
    box to;
    std::shared_ptr<endpoint> home;
  };
  void drop_gone() {
    std::erase_if(all_, [](auto const& one) { return one.to->gone(); });
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

  std::uint64_t rules_listeners(std::string_view topic) { return rules_listeners_.count(topic); }

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

  result<void> make_room(rows::iterator at, std::size_t bytes, clock::time_point until);

  deadlines& due_;
  usage& used_;
  rows reports_;
  std::map<std::string, store_rules> rules_;
  listeners<report_listener, std::shared_ptr<std::string const>> report_listeners_;
  listeners<rules_listener, store_rules> rules_listeners_;
};

}  // namespace herdlock::memory
