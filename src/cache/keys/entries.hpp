// Entries as they were read, and what is to be done about them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <herdlock/backend.hpp>
#include <herdlock/detail/cache_core.hpp>

#include "algo/entry_header.hpp"
#include "algo/freshness.hpp"
#include "algo/tag_check.hpp"

namespace herdlock::runtime {

/// The header of a framed entry, and its times on the clock of this process.
struct entry_age {
  algo::entry_header header;
  algo::entry_times times;
  bool killed = false;  ///< by a put or invalidate that came between the read and its answer
  algo::tag_verdict by_tags = algo::tag_verdict::fresh;  ///< not fresh: its header says `expired`
  clock::duration head_start{0};  ///< a hot key's entry is early for so long at least
};

/// A decoded entry; one of a plain cache has no age, unless it is refreshed early.
struct found_entry {
  detail::cache_answer answer;
  std::optional<entry_age> age;

  bool stale(clock::time_point now) const { return age && now >= age->times.expires; }
};

/// Whether a call loads whatever is there.
inline bool loads_now(detail::cache_caller const& caller) {
  return caller.wish == detail::caller_wish::load_now;
}

/// Whether a call wants what is there, and nothing else.
inline bool is_look(detail::cache_caller const& caller) {
  return caller.wish == detail::caller_wish::look || caller.wish == detail::caller_wish::examine;
}

/// Why a key is loaded.
struct load_purpose {
  /// An entry with less time left in the store is loaded anew although it is there; 0: none is.
  milliseconds refresh_below{0};
  std::uint64_t refresh = 0;   ///< the id of a refresh of an entry that is an answer; 0: none
  bool caller_waits = false;   ///< for his loader, with that answer at hand
  bool waits_softly = false;   ///< the caller that waits has a stale value at hand
  bool probes_claims = false;  ///< its claim is to tell whether claims work again
  bool by_tags = false;        ///< tags ended the entry, of which the store knows nothing
  bool now = false;            ///< whatever is there: it is no answer
  bool has_begun = false;      ///< its loader has been called, or is about to be
  /// The entry, for its loader to look at and to keep; a miss where none is to be had.
  detail::cache_answer replaced = {};
  std::string replaced_tags = {};  ///< the extensions of its header

  void replaces(found_entry const& entry) {
    replaced = entry.answer;
    replaced_tags = entry.age ? entry.age->header.extensions : std::string();
  }
  bool is_refresh() const noexcept { return refresh != 0; }
  /// There is something to be served to others while it runs.
  bool behind_answer() const noexcept { return is_refresh() || waits_softly; }
  /// Others may find an answer in the store.
  bool others_look() const noexcept { return behind_answer() || now; }
};

/// The use that a caller makes of an entry, and the load that belongs to it.
struct found_use {
  algo::entry_use use;
  load_purpose purpose{};
};

/// An error that answers for a while, as it is shared with the other processes.
struct shared_failure {
  std::string text;
  milliseconds back_off{0};
};

/// The fate of the stale values that callers of a key have at hand when its loads are voided.
enum class voiding { keeps_copies, ends_copies };

}  // namespace herdlock::runtime
