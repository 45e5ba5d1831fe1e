// How many releases without an answer are remembered at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <herdlock/types.hpp>

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

/// An entry's own: a release of what it held had no answer. Until the lease must have ended, its
/// outcome is not forgotten.
class unconfirmed_release {
 public:
  explicit unconfirmed_release(std::shared_ptr<unconfirmed_releases> all) : all_(std::move(all)) {}

  bool pending() const { return until_ && clock::now() < *until_; }
  clock::time_point until() const { return until_.value_or(clock::time_point{}); }
  /// `forget` is called when there are too many of them.
  void remember(clock::time_point end, std::function<void()> forget) {
    until_ = end;
    if (number_ == 0) number_ = all_->add(std::move(forget));
  }
  void confirm() {
    until_.reset();
    all_->remove(std::exchange(number_, 0));
  }

 private:
  std::shared_ptr<unconfirmed_releases> const all_;
  std::optional<clock::time_point> until_;
  unconfirmed_releases::number number_ = 0;
};

}  // namespace herdlock::etcd
