// What caches tell each other over a store, and their rules, through its ports.
#pragma once

#include <herdlock/report_store.hpp>
#include <herdlock/rules_store.hpp>

#include "fixture.hpp"

namespace herdlock_test {

struct heard_reports final : report_listener {
  std::vector<std::string> texts;

  void on_report(std::string_view text) override { texts.emplace_back(text); }
  bool has(std::string const& text) const {
    return std::find(texts.begin(), texts.end(), text) != texts.end();
  }
};

struct heard_rules final : rules_listener {
  store_rules last;

  void on_rules(store_rules const& told) override {
    if (told.version > last.version) last = told;
  }
};

inline result<void> report(client& by, std::string process, std::uint64_t number, std::string text,
                           std::string topic = "t") {
  return by.get(by.start<void>([&](auto done) {
    by.store().reports->report({std::move(topic), std::move(process), number, std::move(text)},
                               std::move(done));
  }));
}

inline std::shared_ptr<heard_reports> listen(client& by, std::string topic = "t") {
  auto const to = std::make_shared<heard_reports>();
  by.store().reports->listen(std::move(topic), to);
  return to;
}

/// Its version; 0 when somebody else was first, or it failed.
inline std::uint64_t write_rules(client& by, std::uint64_t expected, std::string text,
                                 std::string topic = "t") {
  auto const written = by.get(by.start<std::uint64_t>([&](auto done) {
    by.store().rules->write_rules({std::move(topic), expected, std::move(text)}, std::move(done));
  }));
  EXPECT_TRUE(written.has_value()) << written.error().message;
  return written.has_value() ? *written : 0;
}

inline store_rules read_rules(client& by, std::string topic = "t") {
  auto const found = by.get(by.start<store_rules>(
      [&](auto done) { by.store().rules->read_rules(std::move(topic), std::move(done)); }));
  EXPECT_TRUE(found.has_value()) << found.error().message;
  return found.has_value() ? *found : store_rules();
}

inline std::shared_ptr<heard_rules> listen_for_rules(client& by, std::string topic = "t") {
  auto const to = std::make_shared<heard_rules>();
  by.store().rules->listen_for_rules(std::move(topic), to);
  return to;
}

/// Nothing where the store cannot tell.
inline listener_count count_listeners(client& by, std::string topic = "t") {
  auto const told = by.get(by.start<listener_count>(
      [&](auto done) { by.store().rules->count_listeners(std::move(topic), std::move(done)); }));
  EXPECT_TRUE(told.has_value()) << told.error().message;
  return told.has_value() ? *told : std::nullopt;
}

inline bool prolong(client& by, cache_key const& key, milliseconds to, milliseconds at_most) {
  auto const said = by.get(by.start<bool>([&](auto done) {
    by.store().rules->prolong({key, to, at_most}, std::move(done));
  }));
  EXPECT_TRUE(said.has_value()) << said.error().message;
  return said.has_value() && *said;
}

/// 0 for what is not there.
inline milliseconds time_left(client& by, cache_key const& key) {
  auto const said = by.get(by.start<std::optional<milliseconds>>(
      [&](auto done) { by.store().values->time_left(key, std::move(done)); }));
  return said.value().value_or(0ms);
}

}  // namespace herdlock_test
