// Questions about tags end whatever is thrown around them: nobody waits for one that is not asked.
#include "cache/keys/tag_questions.hpp"

#include <gtest/gtest.h>

namespace herdlock::runtime {
namespace {

class TagQuestions : public ::testing::Test {
 protected:
  void ask(std::string const& tag = "t") {
    questions.ask(
        tag, [this](failure const& why) { answers.push_back(why); },
        [this](auto const& one) { begun.push_back(one); });
  }

  tag_questions questions;
  std::vector<tag_questions::question_ptr> begun;
  std::vector<failure> answers;
};

TEST_F(TagQuestions, AreAskedOneAtATimeOfEachTag) {
  ask();
  ask();
  ask("u");
  ASSERT_EQ(begun.size(), 2u);
  begun[0]->answer({});
  EXPECT_EQ(answers.size(), 2u);
  ask();
  EXPECT_EQ(begun.size(), 3u);
}

TEST_F(TagQuestions, WhatIsAskedInsideOfAnAnswerIsANewQuestion) {
  questions.ask(
      "t", [this](failure const&) { ask(); }, [this](auto const& one) { begun.push_back(one); });
  begun[0]->answer({});
  EXPECT_EQ(begun.size(), 2u);
  EXPECT_TRUE(answers.empty());
}

TEST_F(TagQuestions, OneThatCannotBeginAnswersAndIsAskedAnew) {
  auto const no_memory = [](auto const&) { throw std::bad_alloc(); };
  questions.ask(
      "t", [this](failure const& why) { answers.push_back(why); }, no_memory);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(answers[0] == errc::overloaded);
  ask();
  EXPECT_EQ(begun.size(), 1u);
}

TEST_F(TagQuestions, OneThatIsThrownAwayOnItsWayAnswersAndIsAskedAnew) {
  ask();
  ask();
  try {
    auto const lost = std::move(begun);
    begun.clear();
    throw std::bad_alloc();
  } catch (std::bad_alloc const&) {
  }
  EXPECT_EQ(answers.size(), 2u);
  ask();
  EXPECT_EQ(begun.size(), 1u);
}

TEST_F(TagQuestions, OneThatGoesWithItsExecutorAnswersNobodyAndIsAskedAnew) {
  ask();
  begun.clear();
  EXPECT_TRUE(answers.empty());
  ask();
  EXPECT_EQ(begun.size(), 1u);
}

TEST_F(TagQuestions, AllAreToldAlsoWhenOneThrows) {
  questions.ask(
      "t", [](failure const&) { throw std::bad_alloc(); },
      [this](auto const& one) { begun.push_back(one); });
  ask();
  EXPECT_THROW(begun[0]->answer({}), std::bad_alloc);
  EXPECT_EQ(answers.size(), 1u);
}

}  // namespace
}  // namespace herdlock::runtime
