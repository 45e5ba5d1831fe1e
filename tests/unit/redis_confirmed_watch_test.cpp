// A watch whose event may be late, so that its value is read anew: what a cancellation does to it.
#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>

#include "stores/redis/cache/cache_port.hpp"
#include "stores/redis/cache/cache_watches.hpp"
#include "stores/redis/cache/entry_codec.hpp"

namespace herdlock::redis {
namespace {

// Keeps what it is given until the test answers it, and says that events may be late.
class scripted_router final : public router, public std::enable_shared_from_this<scripted_router> {
 public:
  explicit scripted_router(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  void submit(command_ptr what) override { sent.push_back(std::move(what)); }
  void cancel(command& what) override {
    what.fail(make_failure(errc::canceled, "scripted"), completion::later);
  }
  settings const& how() const override { return how_; }
  asio::any_io_executor const& executor() const override { return executor_; }
  std::weak_ptr<router> weak_router() override { return weak_from_this(); }
  connection* carrier_for(std::string_view) override { return nullptr; }
  std::vector<std::shared_ptr<connection>> servers() override { return {}; }
  std::shared_ptr<connection> make_event_connection() override {
    return std::make_shared<connection>(executor_, how_);
  }
  bool events_may_be_late() const override { return true; }

  std::vector<command_ptr> sent;

 private:
  asio::any_io_executor executor_;
  settings how_ = [] {
    settings made;
    made.display_name = "scripted:";
    made.host.clear();
    made.unix_path = "/nonexistent";
    return made;
  }();
};

reply list_of(std::initializer_list<std::string_view> texts) {
  reply made;
  made.add(reply_kind::list, texts.size(), {});
  for (auto const text : texts) made.add(reply_kind::text, 0, text);
  return made;
}

// How many bytes of arguments a command has.
struct counted_bytes final : command_writer {
  void push(std::span<std::string_view const> arguments) override {
    for (auto const one : arguments) count += one.size();
  }
  std::size_t count = 0;
};

class ConfirmedWatch : public testing::Test {
 protected:
  explicit ConfirmedWatch(std::string const& event = stored_event()) {
    port->watch({cache_key("k"), std::chrono::minutes(1)},
                asio::bind_cancellation_slot(stop.slot(), [this](result<watch_reply> told) {
                  outcome.emplace(std::move(told));
                }));
    connection_listener& hears = *watches;
    hears.on_connection_up();
    hears.on_message(list_of({"subscribe", name(), "1"}));
    answer(list_of({"60000", "7"}));  // the look: a claim with the number 7
    io.poll();
    hears.on_message(list_of({"message", name(), "#7 " + event}));
  }
  ~ConfirmedWatch() override {
    watches->close();
    line->close();
    commands->sent.clear();
    io.restart();
    io.poll();
  }

  static std::string name() {
    std::string made;
    side_key(made, "k", events_role(0));
    return made;
  }
  void answer(reply const& what) {
    ASSERT_FALSE(commands->sent.empty());
    commands->sent.back()->complete(what);
    commands->sent.clear();
  }

  asio::io_context io;
  std::shared_ptr<scripted_router> commands = std::make_shared<scripted_router>(io.get_executor());
  std::shared_ptr<connection> line = commands->make_event_connection();
  std::shared_ptr<cache_watches> watches = std::make_shared<cache_watches>(commands, line, nullptr);
  std::shared_ptr<cache_store> port = make_cache_port(commands, watches);
  asio::cancellation_signal stop;
  std::optional<result<watch_reply>> outcome;
};

TEST_F(ConfirmedWatch, GivesWhatIsThereWhenItIsReadAnew) {
  io.poll();
  reply now;
  now.add(reply_kind::text, 0, "new");
  answer(now);
  io.poll();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(std::get<std::string>(std::get<cache_hit>(outcome->value()).value), "new");
}

// As a version that still published values tells it.
struct ConfirmedWatchOfAValue : ConfirmedWatch {
  ConfirmedWatchOfAValue() : ConfirmedWatch(value_event(std::string("old"))) {}
};

TEST_F(ConfirmedWatchOfAValue, GivesWhatIsThereAndNotWhatTheEventBrings) {
  io.poll();
  reply now;
  now.add(reply_kind::text, 0, "new");
  answer(now);
  io.poll();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(std::get<std::string>(std::get<cache_hit>(outcome->value()).value), "new");
}

// Nobody would take it from there (S17).
TEST_F(ConfirmedWatch, WhatIsWrittenIsSentOnceAndNotOnceMoreInAnEvent) {
  io.poll();
  std::string const value(16'000, 'x');
  commands->sent.clear();
  port->put({cache_key("k"), value, std::chrono::minutes(1)}, [](result<void> const&) {});
  port->fill({cache_key("k"), owner_token::generate(), value, std::chrono::minutes(1)},
             [](result<fill_reply> const&) {});
  ASSERT_EQ(commands->sent.size(), 2u);
  for (auto const& one : commands->sent) {
    counted_bytes bytes;
    one->encode(bytes, script_form::by_hash);
    EXPECT_GE(bytes.count, value.size());
    EXPECT_LT(bytes.count, value.size() + 1000);
  }
}

TEST_F(ConfirmedWatch, IsCancelledBetweenTheEventAndItsConfirmation) {
  stop.emit(asio::cancellation_type::terminal);
  io.poll();
  EXPECT_TRUE(commands->sent.empty()) << "nobody wants the value any more";
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->has_error() && outcome->error() == errc::canceled);
}

TEST_F(ConfirmedWatch, IsCancelledWhileItsValueIsReadAnew) {
  io.poll();
  ASSERT_EQ(commands->sent.size(), 1u);
  stop.emit(asio::cancellation_type::terminal);
  io.poll();
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->has_error() && outcome->error() == errc::canceled);
}

}  // namespace
}  // namespace herdlock::redis
