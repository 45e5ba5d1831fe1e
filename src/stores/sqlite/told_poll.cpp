#include "stores/sqlite/told_poll.hpp"

#include <new>
#include <utility>

#include "stores/common/shared_timer.hpp"

namespace herdlock::sqlite {

void told_poll::listen(algo::told_listeners::listener one) {
  listeners_.add(std::move(one));
  somebody_came_ = true;
  if (!asking_) ask(question::whole);
}

// Without memory for it, it is asked later.
void told_poll::ask(question what) {
  try {
    send(what);
  } catch (std::bad_alloc const&) {
    ask_later();
  }
}

// Nothing that is written while the rows are read is missed: the number is asked for in front of
// them. As long as it is the same, one statement is all.
void told_poll::send(question what) {
  auto const file = file_.lock();
  if (!file) return;
  auto const known = what == question::if_changed ? heard_ : no_version;
  auto work = [known, from = listeners_.from(),
               rows_behind = how_.rows_behind](connection& db) -> result<found_rows> {
    auto const version = db.data_version();
    if (version == known) return found_rows{{from, from, {}, false}, version};
    auto rows = rows_behind(db, from);
    auto const heard = rows.more ? no_version : version;
    return found_rows{std::move(rows), heard};
  };
  file->read<found_rows>(
      how_.verb, "all caches",
      [weak = weak_from_this()](result<found_rows> found) {
        if (auto const self = weak.lock()) self->answered(std::move(found));
      },
      std::move(work));
  asking_ = true;
  if (what == question::whole) somebody_came_ = false;
  timer_.cancel();
}

// What could not be read is asked for again. What a listener throws leaves here: by then all is
// set for the next question.
void told_poll::answered(result<found_rows> found) {
  asking_ = false;
  heard_ = no_version;
  ask_later();
  if (found.has_value()) {
    listeners_.tell(found->rows);
    heard_ = found->version;
  }
  if (somebody_came_ && !asking_) ask(question::whole);
}

void told_poll::ask_later() {
  listeners_.drop_gone();
  if (listeners_.empty()) return;
  stores::run_after(timer_, how_.pause, weak_from_this(), [](told_poll& self) {
    if (!self.asking_) self.ask(question::if_changed);
  });
}

}  // namespace herdlock::sqlite
