// Neighbours that share a script call: how it is written, and who gets which part of the answer.
#include <gtest/gtest.h>

#include "stores/redis/client/script_bundle.hpp"
#include "stores/redis/scripts/lease_scripts.hpp"

namespace {

using namespace herdlock;
using namespace herdlock::redis;
using words = std::vector<std::string>;

class recording_writer final : public command_writer {
 public:
  std::vector<words> calls;

 private:
  void push(std::span<std::string_view const> arguments) override {
    calls.emplace_back(arguments.begin(), arguments.end());
  }
};

class step final : public command {
 public:
  explicit step(std::string name, std::string_view letter = "A", bool is_open = true)
      : name_(std::move(name)), letter_(letter), open_(is_open) {}

  void encode(command_writer& out, script_form as) const override {
    out.begin(lease_scripts().acquire, as);
    out.add(name_);
    out.add_side_key(name_, "fence");
    out.add_side_key(name_, "queue");
    out.add("owner");
    out.add_number(static_cast<std::int64_t>(name_.size()));
    out.end();
  }
  void complete(reply const&) override {}
  void fail(failure const&, completion) override {}
  bool open() const override { return open_; }
  std::string_view step_in_bundle() const override { return letter_; }

 private:
  std::string name_;
  std::string_view letter_;
  bool open_;
};

void push(std::deque<command_ptr>& to, std::string name, std::string_view letter = "A",
          bool is_open = true) {
  to.push_back(std::make_unique<step>(std::move(name), letter, is_open));
}

words call_for_a_and_bc(std::string const& verb, std::string_view script) {
  return {verb,
          std::string(script),
          "6",
          "a",
          "{a}:herdlock:fence",
          "{a}:herdlock:queue",
          "bc",
          "{bc}:herdlock:fence",
          "{bc}:herdlock:queue",
          "A",
          "owner",
          "1",
          "A",
          "owner",
          "2"};
}

TEST(RedisScriptBundle, HasTheKeysOfAllInFrontAndThenTheirSteps) {
  script_bundle bundle;
  recording_writer out;
  step const a("a"), bc("bc");
  for (int round = 0; round < 2; ++round) {  // nothing is left of the first
    bundle.add(a);
    bundle.add(bc);
    bundle.write(out);
    EXPECT_EQ(out.calls.back(), call_for_a_and_bc("EVALSHA", lease_scripts().many.sha()));
  }
}

TEST(RedisScriptBundle, BringsTheScriptOnceWhenTheServerDoesNotKnowIt) {
  script_bundle bundle;
  recording_writer out;
  step a("a"), bc("bc");
  reply refusal;
  refusal.add(reply_kind::error, 0, "NOSCRIPT No matching script.");
  ASSERT_FALSE(script_bundle::answers(refusal));
  bundle.prepare_again(a, refusal);
  EXPECT_FALSE(a.alone);
  for (auto const& [verb, script] : {std::pair{"EVAL", lease_scripts().many.source},
                                     std::pair{"EVALSHA", lease_scripts().many.sha()}}) {
    bundle.add(a);
    bundle.add(bc);
    bundle.write(out);
    EXPECT_EQ(out.calls.back(), call_for_a_and_bc(verb, script));
  }
}

TEST(RedisScriptBundle, WhatFailedGoesAloneTheNextTime) {
  script_bundle bundle;
  std::deque<command_ptr> waiting;
  for (int i = 0; i < 3; ++i) push(waiting, "r");
  EXPECT_EQ(script_bundle::joinable(waiting), 3u);
  reply nothing;
  nothing.add(reply_kind::null, 0, "");
  ASSERT_FALSE(script_bundle::answers(nothing));
  bundle.prepare_again(*waiting[1], nothing);
  EXPECT_EQ(script_bundle::joinable(waiting), 1u);
  waiting.pop_front();
  EXPECT_EQ(script_bundle::joinable(waiting), 1u) << "it goes in any case";
}

TEST(RedisScriptBundle, EndsAtACommandThatHasNoStepOrHasEndedAndAtSixteen) {
  std::deque<command_ptr> waiting;
  push(waiting, "r");
  push(waiting, "r");
  push(waiting, "r", "");
  EXPECT_EQ(script_bundle::joinable(waiting), 2u);
  waiting.clear();
  push(waiting, "r");
  push(waiting, "r", "A", false);
  EXPECT_EQ(script_bundle::joinable(waiting), 1u);
  waiting.clear();
  for (std::size_t i = 0; i < max_bundled_commands; ++i) push(waiting, "r");
  EXPECT_EQ(script_bundle::joinable(waiting), max_bundled_commands);
  push(waiting, "r");
  EXPECT_EQ(script_bundle::joinable(waiting), max_bundled_commands);
}

TEST(RedisBundledAnswers, EachCommandHasItsElementOfTheList) {
  bundled_answers answers;
  answers.add_reply(1);
  answers.add_reply(3);
  answers.add_reply(1);
  std::vector<reply> replies(3);
  replies[0].add(reply_kind::text, 0, "first");
  replies[1].add(reply_kind::list, 3, "");
  replies[1].add(reply_kind::number, 0, "7");
  replies[1].add(reply_kind::list, 2, "");
  replies[1].add(reply_kind::number, 0, "100");
  replies[1].add(reply_kind::text, 0, "holder");
  replies[1].add(reply_kind::number, 0, "8");
  replies[2].add(reply_kind::text, 0, "last");
  EXPECT_FALSE(answers.is_bundled(0));
  EXPECT_EQ(answers.answer_to(0, replies).text(), "first");
  EXPECT_TRUE(answers.is_bundled(1));
  EXPECT_EQ(answers.answer_to(1, replies).number(), 7);
  EXPECT_EQ(answers.answer_to(2, replies).text(2), "holder");
  EXPECT_EQ(answers.answer_to(3, replies).number(), 8);
  EXPECT_FALSE(answers.is_bundled(4));
  EXPECT_EQ(answers.answer_to(4, replies).text(), "last");
}

TEST(RedisBundledAnswers, ARefusalOfTheWholeIsThatOfEach) {
  bundled_answers answers;
  answers.add_reply(2);
  std::vector<reply> replies(1);
  replies[0].add(reply_kind::error, 0, "NOPERM no");
  EXPECT_EQ(answers.answer_to(0, replies).text(), "NOPERM no");
  EXPECT_EQ(answers.answer_to(1, replies).text(), "NOPERM no");
  answers.clear();
  EXPECT_FALSE(answers.is_bundled(0));
}

}  // namespace
