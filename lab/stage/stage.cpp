#include "stage/stage.hpp"

namespace herdlock::lab {

stage::stage(report into) : out_(std::move(into)) { note_interruptions(); }

void stage::go_on() {
  throw_if_interrupted();
  processes_.look(may_end_);
  if (meanwhile_) meanwhile_();
  std::this_thread::sleep_for(milliseconds(1));
}

void stage::clear() {
  processes_.clear();
  may_end_ = cast::may_end::no;
  meanwhile_ = nullptr;
}

void stage::tell(std::string_view what, double share_done) {
  auto const now = steady_ns();
  if (what == told_ && now - told_ns_ < in_ns(milliseconds(100))) return;
  told_ = what;
  told_ns_ = now;
  std::string text(what);
  if (share_done > 0 && share_done < 1) {
    auto const so_far_ms = in_ms(now - began_ns_);
    auto const left = milliseconds(static_cast<std::int64_t>(so_far_ms / share_done - so_far_ms));
    text += fmt::format("; {} left", cli::say(left));
  }
  progress_.show(text + " …");
}

int stage::end() {
  tell_nothing();
  int const status = out_.end(judged_);
  return status != 0 ? status : static_cast<int>(otherwise_);
}

}  // namespace herdlock::lab
