#include "runtime/cache_unguarded_answers.hpp"

#include <algorithm>
#include <utility>

namespace herdlock::runtime {

void unguarded_answers::add(cache_key const& key, result<detail::cache_answer> answer) {
  auto const time = time_of(answer);
  if (time <= milliseconds{0}) return;
  answers_.add(key.str(), std::move(answer), clock::now() + time);
  if (!is_linked()) home_.timers().schedule(*this, answers_.next_end());
}

// No longer than the store would keep it.
milliseconds unguarded_answers::time_of(result<detail::cache_answer> const& answer) const {
  if (answer.has_error()) return std::min(longest, options_.error_back_off);
  bool const nothing = answer->kind == detail::entry_kind::absent;
  return std::min(longest, nothing ? options_.negative_ttl : options_.ttl);
}

void unguarded_answers::on_due(clock::time_point now) {
  answers_.drop_old(now);
  if (!answers_.empty()) home_.timers().schedule(*this, answers_.next_end());
}

}  // namespace herdlock::runtime
