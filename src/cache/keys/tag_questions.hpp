// Questions to the store about tags: one at a time of each tag, for all who want its answer.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <herdlock/types.hpp>

namespace herdlock::runtime {

/// Exceptions do no harm: a tag whose question has ended is asked for anew, and all who wait for an
/// answer get one. On the executor. It outlives its questions.
class tag_questions {
 public:
  using on_answer = std::function<void(failure const&)>;

  /// A question that is under way. It ends with answer(), or with the last reference to it.
  class question {
   public:
    question(tag_questions& home, std::string tag) : home_(home), tag_(std::move(tag)) {}
    question(question const&) = delete;
    question& operator=(question const&) = delete;
    ~question() { home_.forget(*this); }

    std::string const& tag() const noexcept { return tag_; }
    void answer(failure const& why) { tell(home_.take(*this), why); }

   private:
    friend tag_questions;

    tag_questions& home_;
    std::string const tag_;
    bool listed_ = false;
  };
  using question_ptr = std::shared_ptr<question>;

  /// `begin` asks it, if it is not under way. Without memory for it the answer is a failure.
  template <class Begin>
  void ask(std::string const& tag, on_answer done, Begin&& begin) {
    bool waits = false;
    try {
      auto const at = rows_.find(tag);
      if (at != rows_.end()) return at->second.push_back(std::move(done));
      auto const one = std::make_shared<question>(*this, tag);
      auto& row = rows_[tag];
      one->listed_ = true;
      row.push_back(std::move(done));
      waits = true;
      begin(one);
    } catch (std::bad_alloc const&) {
      if (!waits) done(no_memory());
    }
  }

 private:
  using waiters = std::vector<on_answer>;

  static failure no_memory() {
    return {make_error_code(errc::overloaded), "no memory to ask for a tag"};
  }

  waiters take(question& one) noexcept {
    if (!std::exchange(one.listed_, false)) return {};
    auto const at = rows_.find(one.tag_);
    auto row = std::move(at->second);
    rows_.erase(at);
    return row;
  }

  /// Tells all of them, also when one throws.
  static void tell(waiters const& row, failure const& why) {
    std::exception_ptr thrown;
    for (auto const& one : row) {
      try {
        one(why);
      } catch (...) {
        thrown = std::current_exception();
      }
    }
    if (thrown) std::rethrow_exception(thrown);
  }

  // Something was thrown before there was an answer. Else the question goes with all that belongs
  // to the executor, and nothing is to be begun on that any more.
  void forget(question& one) noexcept {
    auto const row = take(one);
    if (row.empty() || std::uncaught_exceptions() == 0) return;
    try {
      tell(row, no_memory());
    } catch (...) {
    }
  }

  std::map<std::string, waiters> rows_;
};

}  // namespace herdlock::runtime
