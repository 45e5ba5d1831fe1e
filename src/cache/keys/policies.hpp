// All that a process knows of the keys of one cache: the records (algo/key_records.hpp), and the
// policies that fill them. Those that a cache may not have are null when it has not.
#pragma once

#include <memory>
#include <utility>

#include "algo/freshness.hpp"
#include "algo/key_records.hpp"
#include "algo/stale_grace_check.hpp"
#include "cache/keys/copies.hpp"
#include "cache/keys/entry_clock.hpp"
#include "cache/keys/home.hpp"
#include "cache/keys/lasting.hpp"
#include "cache/keys/local_parts.hpp"
#include "cache/keys/plain_times.hpp"
#include "cache/keys/tags.hpp"
#include "cache/keys/unstored.hpp"

namespace herdlock::runtime {

struct key_policies {
  key_policies(home_ptr its_home, near_cache mode);

  home_ptr const home;
  /// Entries have an age, so a failed load is remembered for the one that is there.
  bool judges_ages() const noexcept { return tags || plain_times || local.have_due_keys(); }

  algo::key_records table;
  algo::freshness_machine ages;
  cache_unstored unstored;
  entry_clock clock_of_store;
  local_parts local;
  std::unique_ptr<cache_tags> tags;                // null when entries are plain
  std::unique_ptr<cache_plain_times> plain_times;  // null when entries have times, or need none
  std::unique_ptr<cache_lasting> lasting;          // null when entries end by themselves
  algo::tag_check no_tags;
  copies_at_hand copies;
  algo::stale_grace_check grace_check;
  clock::duration last_load_time{0};
};

}  // namespace herdlock::runtime
