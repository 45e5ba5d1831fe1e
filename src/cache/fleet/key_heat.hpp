// The hot keys, and the rules of people for keys, as those see them who keep values of hot keys. By
// themselves: no key is hot, and none has a rule.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include <herdlock/types.hpp>

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
  virtual bool has(std::string_view) { return false; }
  /// Whether the key is hot, and a read of it may bring a value that can be kept.
  virtual bool may_try(std::string_view, clock::time_point) { return false; }
  /// Such a read is sent. Returns its number.
  virtual std::uint64_t try_sent(std::string_view, clock::time_point) { return 0; }
  /// To be called before the value is kept, if it is.
  virtual void try_answered(std::string_view, std::uint64_t) {}
  /// The value is kept, or a write of ours has ended.
  virtual void try_again(std::string_view) {}
  /// A value of the key is about to be kept. Throws std::bad_alloc.
  virtual void name(std::string_view) {}
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
