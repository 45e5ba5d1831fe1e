// The ports of a memory space over which the caches of a process tell each other of hot keys.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <herdlock/report_store.hpp>
#include <herdlock/rules_store.hpp>
#include "stores/memory/handle.hpp"

namespace herdlock::memory {

class exchange_port final : public report_store, public rules_store {
 public:
  explicit exchange_port(handle_on_space on) : on_(std::move(on)) {}

  void report(store_report what, handler<void> done) override {
    auto const name = what.topic;
    on_.tell<void>(name, std::move(done), on_.state->visit_exchange([&](auto& table, auto now) {
      return table.report(std::move(what), now);
    }));
  }
  void listen(std::string topic, std::weak_ptr<report_listener> to) override {
    on_.state->visit_exchange([&](auto& table, auto) {
      table.listen(std::move(topic), std::move(to), on_.home);
      return true;
    });
  }
  void read_rules(std::string topic, handler<store_rules> done) override {
    on_.tell<store_rules>(topic, std::move(done), on_.state->visit_exchange([&](auto& table, auto) {
      return table.read_rules(topic);
    }));
  }
  void write_rules(rules_change what, handler<std::uint64_t> done) override {
    auto const name = what.topic;
    on_.tell<std::uint64_t>(name, std::move(done),
                            on_.state->visit_exchange([&](auto& table, auto) {
                              return table.write_rules(std::move(what));
                            }));
  }
  void listen_for_rules(std::string topic, std::weak_ptr<rules_listener> to) override {
    on_.state->visit_exchange([&](auto& table, auto) {
      table.listen_for_rules(std::move(topic), std::move(to), on_.home);
      return true;
    });
  }
  void count_listeners(std::string topic, handler<listener_count> done) override {
    on_.tell<listener_count>(topic, std::move(done),
                             on_.state->visit_exchange([&](auto& table, auto) {
                               return result<listener_count>(table.rules_listeners(topic));
                             }));
  }
  void prolong(prolong_request what, handler<bool> done) override {
    on_.tell<bool>(what.key.str(), std::move(done),
                   on_.state->visit([&](lease_table&, cache_table& values, auto now) {
                     return values.prolong(what, now);
                   }));
  }

 private:
  handle_on_space const on_;
};

}  // namespace herdlock::memory
