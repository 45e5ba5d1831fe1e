#include "algo/unanswered_leaves.hpp"

#include <utility>

namespace herdlock::algo {
namespace {

// A single statement of each process in a pause need not be spread.
constexpr double not_spread = 0.5;

}  // namespace

leave_action unanswered_leaves::begin(std::int64_t number) {
  if (in_trouble_) return keep(number);
  return {.send = {number}};
}

leave_action unanswered_leaves::answered() {
  in_trouble_ = false;
  pause_.reset();
  auto const all = std::exchange(kept_, {});
  return {.send = {all.begin(), all.end()}};
}

leave_action unanswered_leaves::failed(std::int64_t number) {
  in_trouble_ = true;
  auto action = keep(number);
  // Many may have been under way: one pause is for all.
  if (!std::exchange(pausing_, true)) action.pause = pause_.next(not_spread);
  return action;
}

leave_action unanswered_leaves::tick() {
  pausing_ = false;
  // The last one was forgotten: there is nothing to tell by whether the trouble is over.
  in_trouble_ = !kept_.empty();
  if (!in_trouble_) return {};
  return {.send = {kept_.extract(kept_.begin()).value()}};
}

void unanswered_leaves::clear() {
  kept_.clear();
  pause_.reset();
  in_trouble_ = false;
}

leave_action unanswered_leaves::keep(std::int64_t number) {
  leave_action action;
  kept_.insert(number);
  if (kept_.size() > max_kept_leaves) action.dropped = kept_.extract(kept_.begin()).value();
  return action;
}

}  // namespace herdlock::algo
