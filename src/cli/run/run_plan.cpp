#include "run/run_plan.hpp"

#include <algorithm>

namespace herdlock::cli {
namespace {

constexpr milliseconds first_pause{100};
constexpr milliseconds longest_pause{1'000};
constexpr milliseconds look_for_done{1'000};

milliseconds left_of(milliseconds span, clock::time_point began, clock::time_point now) {
  if (span > limits::max_ttl) return wait_forever;  // no clock may hold its end
  auto const left = std::chrono::floor<milliseconds>(began + span - now);
  return std::max(left, milliseconds{0});
}

}  // namespace

run_plan::run_plan(run_times times, after_work lease, clock::time_point began)
    : times_(times), lease_(lease), began_(began), pause_(first_pause) {}

milliseconds run_plan::wait_left(clock::time_point now) const {
  auto const left = left_of(times_.wait, began_, now);
  return times_.once_per > milliseconds{0} ? std::min(left, look_for_done) : left;
}

run_step run_plan::failed(clock::time_point now, trouble what) {
  auto const left = left_of(std::max(times_.wait, times_.retry), began_, now);
  if (what == trouble::lasting || left == milliseconds{0}) return {.what = run_step::kind::give_up};
  perhaps_ours_until_ = now + times_.ttl;
  return rest(now, left);
}

run_step run_plan::rest(clock::time_point now, milliseconds left) {
  auto const pause = std::min(pause_, left);
  pause_ = std::min(pause_ * 2, longest_pause);
  return {.what = run_step::kind::rest, .until = now + pause};
}

bool run_plan::wants_a_look(clock::time_point now) const {
  return times_.once_per > milliseconds{0} || now < perhaps_ours_until_;
}

run_step run_plan::busy(clock::time_point now, found what) {
  if (what == found::done && times_.once_per > milliseconds{0}) {
    return {.what = run_step::kind::done};
  }
  if (auto const left = wait_left(now); left != milliseconds{0}) {
    pause_ = first_pause;
    return {.what = run_step::kind::ask, .wait = left};
  }
  auto const more = left_of(times_.retry, began_, now);
  bool const ours = what == found::held_by_us && now < perhaps_ours_until_;
  if (!ours || more == milliseconds{0}) return {.what = run_step::kind::give_up};
  return rest(now, more);
}

run_step run_plan::ended(clock::time_point now, clock::time_point granted, int status) const {
  auto const how = status == 0 && times_.once_per > milliseconds{0} ? left_as::done : left_as::held;
  auto const time = how == left_as::done ? times_.once_per : times_.min_hold;
  if (granted + time <= now) return {.what = run_step::kind::give_back};
  if (lease_ == after_work::left) {
    return {.what = run_step::kind::leave, .time = time, .how = how};
  }
  return {.what = run_step::kind::keep, .until = granted + time};
}

}  // namespace herdlock::cli
