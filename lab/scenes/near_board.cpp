#include "scenes/near_board.hpp"

#include <algorithm>

namespace herdlock::cli {

near_board::near_board(std::size_t readers, std::size_t changes)
    : head_(1),
      records_(readers),
      acknowledged_(changes + 1),
      seen_(readers * (changes + 1)),
      old_(readers * (changes + 1)),
      did_well_(readers * (changes + 1)) {}

void near_board::acknowledge(std::int64_t at_ns) {
  auto const number = acknowledged() + 1;
  acknowledged_[static_cast<std::size_t>(number)] = at_ns;
  head_[0].acknowledged = number;
}

std::int64_t near_board::acknowledged_at(std::int64_t change) const {
  return acknowledged_[static_cast<std::size_t>(change)];
}

void near_board::note(std::size_t reader, answer const& got) {
  reader_record& who = records_[reader];
  ++who.reads;
  who.answered_ns = got.answered_ns;
  for (auto change = who.served + 1; change <= std::min(got.change, most_changes()); ++change) {
    seen_[index(reader, change)] = got.answered_ns;
    who.served = change;
  }
  // It was asked for behind these, and is from before them.
  for (auto change = got.change + 1; change <= got.acknowledged; ++change) {
    old_[index(reader, change)] = got.asked_ns - acknowledged_at(change);
  }
}

void near_board::note_fenced(std::size_t reader, answer const& got) {
  reader_record& who = records_[reader];
  ++who.reads;
  ++who.fenced;
  if (got.change < got.acknowledged) ++who.stale_fenced;
  bool const before_the_next = acknowledged() == got.acknowledged;
  if (before_the_next && got.acknowledged < most_changes()) {
    did_well_[index(reader, got.acknowledged + 1)] = got.asked_ns;
  }
}

std::int64_t near_board::seen_at(std::size_t reader, std::int64_t change) const {
  return seen_[index(reader, change)];
}

std::int64_t near_board::old_for(std::size_t reader, std::int64_t change) const {
  return old_[index(reader, change)];
}

std::int64_t near_board::did_well_at(std::size_t reader, std::int64_t change) const {
  return did_well_[index(reader, change)];
}

}  // namespace herdlock::cli
