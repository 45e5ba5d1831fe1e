// The warnings and notes of a store about its server: for those who write a store.
#pragma once

#include <mutex>
#include <string>
#include <vector>

namespace herdlock {
inline namespace v0 {

/// Sentences about a store's server, kept for list() and notes(). Any thread may call all of it.
class store_warnings {
 public:
  /// Keeps a warning: what weakens the store's promises, what follows, the way out. Each text is
  /// kept once; beyond limits::max_listed they are dropped.
  void add(std::string text);
  std::vector<std::string> list() const;
  /// Keeps what a person wants to know and can tell from no URL, as where the leases live. The
  /// bounds are those of add().
  void note(std::string text);
  std::vector<std::string> notes() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> texts_;
  std::vector<std::string> notes_;
};

}  // namespace v0
}  // namespace herdlock
