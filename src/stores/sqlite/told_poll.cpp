#include "stores/sqlite/told_poll.hpp"

#include <utility>

namespace herdlock::sqlite {

void told_poll::listen(algo::told_listeners::listener one) {
  listeners_.add(std::move(one));
  somebody_came_ = true;
  if (!asking_) ask(question::whole);
}

// Nothing that is written while the rows are read is missed: the number is asked for in front of
// them. As long as it is the same, one statement is all.
void told_poll::ask(question what) {
  auto const file = file_.lock();
  if (!file) return;
  asking_ = true;
  if (what == question::whole) somebody_came_ = false;
  timer_.cancel();
  auto work = [what, seen = seen_, from = listeners_.from(),
               rows_behind = how_.rows_behind](connection& db) -> result<algo::told_rows> {
    auto const version = db.data_version();
    if (what == question::if_changed && version == seen->version) {
      return algo::told_rows{from, from, {}, false};
    }
    auto found = rows_behind(db, from);
    seen->version = found.more ? -1 : version;
    return found;
  };
  file->read<algo::told_rows>(
      how_.verb, "all caches",
      [weak = weak_from_this()](result<algo::told_rows> found) {
        if (auto const self = weak.lock()) self->answered(std::move(found));
      },
      std::move(work));
}

// What could not be read is asked for again. What a listener throws leaves here: by then all is
// set for the next question.
void told_poll::answered(result<algo::told_rows> found) {
  asking_ = false;
  ask_later();
  if (found.has_value()) listeners_.tell(*found);
  if (somebody_came_ && !asking_) ask(question::whole);
}

void told_poll::ask_later() {
  listeners_.drop_gone();
  if (listeners_.empty()) return;
  timer_.expires_after(how_.pause);
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code ec) {
    auto const self = weak.lock();
    if (!ec && self && !self->asking_) self->ask(question::if_changed);
  });
}

}  // namespace herdlock::sqlite
