#include "cache/keys/unstored.hpp"

#include <algorithm>

namespace herdlock::runtime {

using algo::unstored_kind;

std::shared_ptr<cache_unstored::answer_type const> cache_unstored::find(
    cache_key const& key, algo::load_guard guard) const {
  return std::static_pointer_cast<answer_type const>(answers_.find(key.str(), guard, clock::now()));
}

// No longer than the store would keep it.
void cache_unstored::add(cache_key const& key, unstored_kind kind, sized_answer what) {
  auto const& options = home_->options;
  auto time = options.error_back_off;
  if (what.answer.has_value()) {
    bool const nothing = what.answer->kind == detail::entry_kind::absent;
    time = nothing ? options.negative_ttl : options.ttl;
  }
  bool const unstorable = kind == unstored_kind::unstorable;
  time = std::min({time, unstorable ? options.error_back_off : longest_unguarded, what.longest});
  auto answer = std::make_shared<answer_type const>(std::move(what.answer));
  answers_.add(key.str(), kind, {std::move(answer), what.bytes, time}, what.began, clock::now());
  schedule();
}

void cache_unstored::add_untaken(cache_key const& key, sized_answer what) {
  {
    algo::key_place at(table_, key.str());
    table_.tell_time(clock::now());
    if (at.make(key.str())) at->untaken.failed(table_.now());
  }
  add(key, unstored_kind::refused, std::move(what));
}

void cache_unstored::taken(cache_key const& key) {
  algo::key_place const at(table_, key.str());
  if (at) at->untaken = {};
}

bool cache_unstored::may_be_taken(cache_key const& key) const {
  auto const* const known = table_.find(key.str());
  return !known || !known->untaken.pauses(clock::now());
}

void cache_unstored::moves(cache_key const& key) {
  algo::key_place at(table_, key.str());
  table_.tell_time(clock::now());
  if (at.make(key.str())) at->moving.failed(table_.now());
}

bool cache_unstored::is_moving(cache_key const& key) const {
  auto const* const known = table_.find(key.str());
  return known && known->moving.pauses(clock::now());
}

void cache_unstored::erase(cache_key const& key) {
  algo::key_place const at(table_, key.str());
  if (!at) return;
  at->answer.reset();
  at->untaken = {};
}

void cache_unstored::on_due(clock::time_point now) {
  answers_.advance(now);
  schedule();
}

void cache_unstored::schedule() {
  auto const due = answers_.due();
  bool const is_news = due != clock::time_point::max() && !is_linked();
  if (is_news) home_->store->timers().schedule(*this, due);
}

}  // namespace herdlock::runtime
