#include "cache/keys/unstored_answers.hpp"

#include <algorithm>
#include <utility>

namespace herdlock::runtime {

void unstored_answers::list::add(cache_key const& key, sized_answer what) {
  auto const time = time_of(what.answer);
  if (time <= milliseconds{0}) return;
  auto const bytes = key.str().size() + what.bytes;
  answers_.add(key.str(), std::move(what.answer), bytes, clock::now() + time);
  if (!is_linked()) home_.timers().schedule(*this, answers_.next_end());
}

// No longer than the store would keep it.
milliseconds unstored_answers::list::time_of(answer_type const& answer) const {
  if (answer.has_error()) return std::min(longest_, options_.error_back_off);
  bool const nothing = answer->kind == detail::entry_kind::absent;
  return std::min(longest_, nothing ? options_.negative_ttl : options_.ttl);
}

void unstored_answers::list::on_due(clock::time_point now) {
  answers_.drop_old(now);
  if (!answers_.empty()) home_.timers().schedule(*this, answers_.next_end());
}

}  // namespace herdlock::runtime
