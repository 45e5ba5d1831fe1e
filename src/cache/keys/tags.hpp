// The tags of a cache's entries: their records in the store, what an entry that was read is worth
// by them, and the ends that invalidate_tag and expire_tag put to them.
//
// A tag's record is a framed entry beside the others, under a name of its own; its value is the
// generations. invalidate_tag removes it and expire_tag makes it stale, one command each. A process
// that loads an entry with the tag makes the next record first, under a claim, so that one process
// of all does.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <herdlock/backend.hpp>
#include <herdlock/detail/cache_core.hpp>

#include "algo/store_clock.hpp"
#include "algo/tag_check.hpp"
#include "cache/keys/home.hpp"
#include "cache/keys/local_parts.hpp"
#include "cache/keys/tag_questions.hpp"

namespace herdlock::runtime {

/// An entry as it was read, marked stale when it is not fresh by its tags.
struct judged_value {
  cache_value stored;
  algo::tag_verdict verdict;
};

/// A tag that is to end.
struct tag_end {
  std::string tag;
  cache_key record;  ///< the key of its record
  detail::tag_ending how;
};

/// The key of the record of a tag that a user names: any but tag_of_all; errc::invalid_name.
result<cache_key> users_record_key(std::string_view prefix, std::string_view tag);
/// That of tag_of_all has no name behind the prefix.
result<cache_key> record_key_of_all(std::string_view prefix);

/// The future of an entry that is judged.
enum class entry_future {
  is_used,
  /// It is used, and kept in the process, if it may be: so are the records that it needs for that.
  is_kept,
};

/// The tags of a cache with framed entries. All members on the executor.
class cache_tags {
 public:
  template <class T>
  using then = std::function<void(result<T>)>;

  /// `clock_of_store` outlives this.
  cache_tags(home_ptr home, algo::store_clock const& clock_of_store, local_parts local);

  /// The tags of a key by tag_options::of, each once, and tag_of_all where there is one.
  /// errc::invalid_name for a tag that cannot be one, errc::invalid_value for too many of them, or
  /// what that function threw.
  result<std::vector<std::string>> names_of(cache_key const& key) const;
  /// The record's key; errc::invalid_name.
  result<cache_key> record_key(std::string_view tag) const;

  /// Whether a verdict takes a look at the entry's tags: else each is `fresh`.
  /// Why: docs/decisions/tags.md#all-entries-have-one-tag
  bool concerns(cache_value const& stored) const noexcept;
  /// Judges an entry that was read; at once if its records are known. One without tags is `fresh`,
  /// but for tag_of_all: an entry that lacks it is `gone` where all are to have it. A failure when
  /// the store cannot be reached.
  void judge(cache_value stored, then<judged_value> done,
             entry_future future = entry_future::is_used);
  /// Finds the extensions of an entry before its load or put begins.
  void prepare(std::vector<std::string> const& names, then<std::string> done);
  /// Reads the record, one read at a time. The record of an entry that is kept is kept, too.
  void read(std::string const& tag, entry_future future, std::function<void(failure const&)> done);

  /// Ends the tag by one command. To be told before and after it: changed().
  void end(cache_key const& record, detail::tag_ending how, handler<bool> done);
  /// Loaders name tags of their own: by its key alone nobody can tell what tags a value has.
  void named_by_loader() noexcept { are_named_by_loaders_ = true; }
  /// Whether a value of the key may have the tag.
  bool may_have(cache_key const& key, std::string const& tag) const;
  /// This process ends the tag, or has just done so: what was read before says nothing any more.
  void changed(std::string const& tag, detail::tag_ending how);
  /// Records that were read before say nothing any more.
  void fence() { known_.changed_all(clock::now()); }

  // For who writes a record.
  algo::tag_check& known() noexcept { return known_; }
  local_parts const& local() const noexcept { return local_; }
  /// The record in a stored value; nothing for what is not a record.
  std::optional<algo::tag_record> record_of(cache_value const& stored) const;
  /// The record as it is stored, and for how long.
  cache_value encode(algo::tag_generations const& now) const;
  milliseconds record_ttl() const noexcept { return record_ttl_; }
  algo::entry_span span() const;

 private:
  struct judgement;
  struct preparation;

  void ask(std::shared_ptr<judgement> const& about);
  void send_read(tag_questions::question_ptr const& about, cache_key const& key,
                 entry_future future);
  algo::tag_verdict verdict_of(algo::entry_tag const& one, judgement const& about,
                               clock::time_point now) const;
  void make_ready(std::string const& tag, std::function<void(failure const&)> done);
  void write(std::string const& tag, std::function<void(failure const&)> done);

  home_ptr const home_;
  algo::store_clock const& clock_;
  local_parts const local_;
  algo::tag_check known_;
  milliseconds entry_life_;
  milliseconds record_ttl_;
  bool are_named_by_loaders_ = false;
  tag_questions reads_;
  tag_questions writes_;
};

}  // namespace herdlock::runtime
