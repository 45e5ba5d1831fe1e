// When the store is asked to lengthen the life of hot keys' entries, for the keys that have the
// rule `keep`, since other programs fill them.
//
// While such a key is hot the store is asked at once, and again after each third of the time to
// which it lengthens: so an entry always has some time left while its key stays hot, and that time
// at most when the key cools. The store is not asked more often, whatever has become of the
// question before, and however often the key cools and is hot again. Only the store knows what may
// be lengthened.
//
// Pure. Keys are without a prefix.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/types.hpp>

namespace herdlock::algo {

class entry_keeper {
 public:
  /// The time to which an entry's life is lengthened; less if the rule allows less.
  static constexpr milliseconds longest_step{30'000};
  /// Keys beyond this number are not kept.
  static constexpr std::size_t most_keys = 2048;

  /// A question to the store: to lengthen the life of this entry.
  struct question {
    std::string key;
    milliseconds to;
    milliseconds at_most;

    friend bool operator==(question const&, question const&) = default;
  };
  /// How long an entry may live beyond its first expiry; nothing: no rule for it holds now.
  using bound_of = std::function<std::optional<milliseconds>(std::string_view key)>;

  void hot(std::string_view key, clock::time_point now);
  void cooled(std::string_view key);
  /// The rules may have changed.
  void ruled();

  /// The questions that are due now; each is under way until answered() is called for its key.
  std::vector<question> due(clock::time_point now, bound_of const& bound);
  /// The question for the key was answered, by an error perhaps.
  void answered(std::string_view key);
  /// The time at which a question is due again; nothing: none is, before another call.
  std::optional<clock::time_point> next() const;

 private:
  struct entry {
    bool is_hot = true;
    bool is_asked = false;              // the question is under way
    bool has_rule = true;               // or it is not known
    clock::time_point not_before = {};  // when it may be asked
  };

  void forget_cooled(clock::time_point now);

  std::map<std::string, entry, std::less<>> entries_;
};

}  // namespace herdlock::algo
