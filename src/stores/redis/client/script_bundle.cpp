#include "stores/redis/client/script_bundle.hpp"

#include <algorithm>
#include <utility>

#include "stores/redis/client/server_errors.hpp"
#include "stores/redis/scripts/lease_scripts.hpp"

namespace herdlock::redis {

// Why: docs/stores/redis.md#neighbours-share-a-script
std::size_t script_bundle::joinable(std::deque<command_ptr> const& waiting) {
  auto const joins = [](command_ptr const& one) {
    return one->open() && !one->alone && !one->step_in_bundle().empty();
  };
  std::size_t size = 0;
  auto const most = std::min(waiting.size(), max_bundled_commands);
  while (size < most && joins(waiting[size])) ++size;
  return std::max<std::size_t>(size, 1);
}

void script_bundle::add(command const& one) {
  if (used_ == calls_.size()) calls_.emplace_back();
  calls_[used_++].record(one);
}

void script_bundle::write(command_writer& to) {
  to.begin_keys(lease_scripts().many, std::exchange(form_, script_form::by_hash));
  for (std::size_t i = 0; i < used_; ++i) {
    for (auto const key : calls_[i].keys()) to.add(key);
  }
  to.end_keys();
  for (std::size_t i = 0; i < used_; ++i) {
    to.add(calls_[i].step());
    for (auto const argument : calls_[i].arguments()) to.add(argument);
  }
  to.end();
  used_ = 0;
}

// An element that was too large for all may have cut off what its neighbours were told.
bool script_bundle::answers(reply const& element) {
  if (element.too_large()) return false;
  return element.kind() == reply_kind::number || element.kind() == reply_kind::list;
}

// What went wrong with one, or with the whole bundle for the sake of one (by an ACL), is told to
// who asks alone.
void script_bundle::prepare_again(command& one, reply const& element) {
  if (element.is_error() && is_unknown_script(element.text())) {
    form_ = script_form::with_source;
  } else {
    one.alone = true;
  }
}

void script_bundle::recorded_script::record(command const& one) {
  step_ = one.step_in_bundle();
  one.encode(*this, script_form::by_hash);
}

// EVALSHA, the hash, the number of keys, the keys, the arguments. What they point to is in the
// command and in this writer, and stays there.
void script_bundle::recorded_script::push(std::span<std::string_view const> call) {
  constexpr std::size_t count_at = 2;
  key_count_ = whole_number<std::size_t>(call[count_at]).value_or(0);
  rest_ = call.subspan(count_at + 1);
}

}  // namespace herdlock::redis
