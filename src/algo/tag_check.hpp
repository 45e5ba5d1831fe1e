// The tags as a process knows them, and the worth of an entry by its tags.
//
//   the entry's generations        the tag's record      the entry
//   ---------------------------    ------------------    -------------------------------
//   both as in the record          as it was made        as fresh as its own times say
//   both as in the record          made stale            stale
//   the second is another                                stale
//   the first is another                                 gone
//                                  there is none         gone: it has changed
//
// A record that agrees with an entry may be max_age old. One that does not may be older than the
// entry:
//
//   1. this process reads the record: generation 1
//   2. another invalidates the tag, makes generation 2, and stores an entry with it
//   3. this process reads the entry: 2 is not 1, and yet nothing has ended it
//
// So an entry is ended only by a record whose reading began when the entry was here.
//
// Pure: no clock, no store.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/types.hpp>

#include "algo/entry_tags.hpp"
#include "algo/sweep_hand.hpp"

namespace herdlock::algo {

/// A tag's record as a store has it.
struct tag_record {
  tag_generations now;
  bool made_stale = false;  ///< by expire_tag; the next load makes another
  clock::time_point ends;
};

/// The verdicts from the best to the worst, and `ask`: some record is to be read first.
enum class tag_verdict { fresh, stale, gone, ask };

/// The verdicts of all tags of an entry: the worst counts. A tag that nothing is known of may be
/// worse than each but `gone`.
class tag_verdicts {
 public:
  void add(tag_verdict one) noexcept;
  tag_verdict all() const noexcept;

 private:
  tag_verdict worst_ = tag_verdict::fresh;
  bool asks_ = false;
};

/// The step that a tag needs before a load begins.
enum class tag_need {
  none,   ///< the generations are known
  read,   ///< the record
  write,  ///< the record: it is missing, was made stale, or ends too soon
};

/// The life of an entry to be: when its load was asked for, and until when it may be there.
struct entry_span {
  clock::time_point asked;
  clock::time_point ends;
};

class tag_check {
 public:
  /// More than `most_tags` are not remembered: one that comes then takes the place of a few others,
  /// which are read once more when they are met again.
  explicit tag_check(clock::duration max_age, std::size_t most_tags = 65'536)
      : max_age_(max_age), most_tags_(most_tags) {}

  /// A read that was sent then found the record, or that there is none; its answer came at `came`.
  void told(std::string_view tag, std::optional<tag_record> const& found, clock::time_point sent,
            clock::time_point came = clock::time_point::max());
  /// This process has made the record. A read that was sent after that, and found none, may have
  /// been carried out before: this is the better word.
  void made(std::string_view tag, tag_record const& record, clock::time_point sent);
  /// This process has changed the tag, or is about to: what was asked before says nothing.
  void changed(std::string_view tag, clock::time_point now);
  /// The same where the change was an end: whoever has kept an entry with the tag until now has
  /// nothing.
  void ended(std::string_view tag, clock::time_point now);
  /// The same for all tags: somebody may have.
  void changed_all(clock::time_point now) { asked_since_ = now; }

  /// The verdict on an entry that was here at `came`.
  tag_verdict judge(std::vector<entry_tag> const& tags, clock::time_point came,
                    clock::time_point now) const;
  tag_verdict judge(entry_tag const& one, clock::time_point came, clock::time_point now) const;

  /// Whether one of the tags has ended since an entry was kept: it is no answer then, whatever is
  /// known of the tags by now.
  bool have_ended(std::vector<entry_tag> const& tags, clock::time_point kept) const;

  /// For a load that was asked for at `asked`.
  tag_need need(std::string_view tag, entry_span const& span, clock::time_point now) const;
  /// As it was read last, whatever has come since: an entry with an older generation has ended.
  /// Nothing when there was none.
  std::optional<tag_record> record(std::string_view tag) const;

  /// When this process knew that the tag has the generations of record(). A load that began later
  /// may have the tag although nobody named it then: an end since has given it others. Never
  /// (time_point::max()) when there is no record.
  clock::time_point known_since(std::string_view tag) const;

  std::size_t size() const noexcept { return known_.size(); }
  /// How many tags have been looked at to make room: sweep_hand::looks for each at most.
  std::size_t looked_for_room() const noexcept { return hand_.looked(); }

 private:
  /// The changes that this process itself has made to a tag.
  struct own_changes {
    clock::time_point last = clock::time_point::min();
    clock::time_point end = clock::time_point::min();
  };
  struct known_tag {
    std::optional<tag_record> found{};
    clock::time_point sent = clock::time_point::min();  // no read counts yet
    own_changes own;
    clock::time_point since = clock::time_point::max();  // known with these generations

    void is(std::optional<tag_record> const& now, clock::time_point known);
  };

  known_tag* make(std::string_view tag);
  /// Null when no read of it counts for who came then: one that was sent later, or one that is
  /// young enough and behind the last fence. A fence concerns nobody who came before it.
  known_tag const* find(std::string_view tag, clock::time_point since, clock::time_point now) const;

  clock::duration max_age_;
  std::size_t most_tags_;
  clock::time_point asked_since_ = clock::time_point::min();  // of all tags
  own_changes forgotten_;  // the latest of those that have been forgotten: it may be of any tag
  std::map<std::string, known_tag, std::less<>> known_;
  sweep_hand hand_;
};

}  // namespace herdlock::algo
