// How many releases without an answer are remembered at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

namespace herdlock::etcd {

/// All members are called on the executor.
class unconfirmed_releases {
 public:
  using number = std::uint64_t;

  explicit unconfirmed_releases(std::size_t most) : most_(most) {}

  /// `forget` is called once when there are too many and this is the oldest; not after remove().
  number add(std::function<void()> forget) {
    if (all_.size() >= most_) {
      auto const oldest = all_.extract(all_.begin());
      oldest.mapped()();
    }
    all_.emplace(++last_, std::move(forget));
    return last_;
  }
  void remove(number which) { all_.erase(which); }

 private:
  std::size_t const most_;
  number last_ = 0;
  std::map<number, std::function<void()>> all_;
};

}  // namespace herdlock::etcd
