// What a store has to say of its server: for those who write a store.
#pragma once

#include <mutex>
#include <string>
#include <vector>

namespace herdlock {
inline namespace v0 {

/// What a store finds out about its server, one sentence each. From any thread.
class store_warnings {
 public:
  /// Of what weakens its promises: what it is, what follows, the way out. Each text is kept once;
  /// beyond limits::max_listed they are dropped.
  void add(std::string text);
  std::vector<std::string> list() const;
  /// Of what a person wants to know and can tell from no URL, as where its leases live. Likewise.
  void note(std::string text);
  std::vector<std::string> notes() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> texts_;
  std::vector<std::string> notes_;
};

}  // namespace v0
}  // namespace herdlock
