// The hot keys, and the rules of people for keys, as those see them who keep values of hot keys. By
// themselves: no key is hot, and none has a rule.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include <herdlock/types.hpp>

#include "algo/hot_places.hpp"
#include "algo/rule_list.hpp"

namespace herdlock::detail {
class hot_counter;
}  // namespace herdlock::detail

namespace herdlock::runtime {

/// The keeper of hot values. Called on the executor.
struct hot_keeper {
  std::function<void()> on_hot;
  /// A key that was named has cooled.
  std::function<void(std::string_view key)> on_cooled;
  /// Whether a value of the key is here.
  std::function<bool(std::string_view key)> keeps;
};

/// Keys are without the prefix of the cache. On the executor.
class key_heat {
 public:
  virtual ~key_heat() = default;

  virtual void keep_by(hot_keeper) {}
  /// The place of a hot key; null for others. Valid in this event, until another call.
  virtual algo::hot_place* find(std::string_view) { return nullptr; }
  /// The server says that somebody has written the key.
  virtual void changed(std::string_view) {}
  /// Any thread. The counter of hits that this object is not told of; null: nobody counts them.
  virtual detail::hot_counter* hits() noexcept { return nullptr; }
};

class rules_of_keys {
 public:
  virtual ~rules_of_keys() = default;

  /// Any thread.
  virtual algo::hot_verdict of(std::string_view) const { return {}; }
  /// `changed` is called when other rules hold than before, perhaps.
  virtual void follow(std::function<void()>) {}
  /// Whether some key is pinned, or will be.
  virtual bool have_pins() const { return false; }
};

/// A part that may be missing, or one that knows of nothing in its place.
template <class Base, class Part>
std::shared_ptr<Base> or_none(std::shared_ptr<Part> part) {
  if (part) return part;
  return std::make_shared<Base>();
}

}  // namespace herdlock::runtime
