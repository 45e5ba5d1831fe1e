// A candidate of an election on a real store, and the side that its work is for.
#pragma once

#include <algorithm>
#include <atomic>
#include <boost/asio/use_future.hpp>
#include <future>
#include <herdlock/herdlock.hpp>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "support/as_result.hpp"

namespace herdlock_test {

using namespace herdlock;
using namespace std::chrono_literals;

// Who works, as the guarded side sees it.
class guarded_side {
 public:
  void enter(election_term const& term) {
    if (inside_.fetch_add(1) != 0) overlaps_ = true;
    if (term.number().value != 0 && term.number().value <= highest_.exchange(term.number().value)) {
      disorder_ = true;
    }
    ++terms_;
  }
  void leave() { inside_.fetch_sub(1); }
  /// Nobody entered beside another, or in an older term.
  bool clean() const { return !overlaps_ && !disorder_; }
  int terms() const { return terms_; }
  int inside() const { return inside_; }

 private:
  std::atomic<int> inside_{0};
  std::atomic<int> terms_{0};
  std::atomic<std::uint64_t> highest_{0};
  std::atomic<bool> overlaps_{false};
  std::atomic<bool> disorder_{false};
};

// One candidate with a store handle of its own, and what it went through.
class candidate {
 public:
  candidate(store where, std::string id, guarded_side& side, milliseconds ttl)
      : where_(std::move(where)), side_(side) {
    election_options options;
    options.ttl = ttl;
    options.back_off_first = 5ms;
    options.back_off_most = 20ms;
    options.candidate = std::move(id);
    options.on_transition = [this](election_transition const& t) {
      std::lock_guard const guard(mutex_);
      seen_.push_back(t);
    };
    job_.emplace(where_, resource("job"),
                 election_services{[this](election_term& term) { return work(term); }, {}},
                 options);
  }
  ~candidate() { end(); }

  void stand() { campaign_ = job_->async_campaign(as_result(asio::use_future)); }
  void resign() { job_->resign(); }
  result<void> end() {
    if (!campaign_.valid()) return {};
    job_->resign();
    return campaign_.get();
  }
  bool works() const { return works_; }
  election& job() { return *job_; }
  store const& where() const { return where_; }
  int times(election_event event) {
    std::lock_guard const guard(mutex_);
    return static_cast<int>(
        std::count_if(seen_.begin(), seen_.end(), [&](auto const& t) { return t.event == event; }));
  }

 private:
  asio::awaitable<void> work(election_term& term) {
    side_.enter(term);
    works_ = true;
    co_await term.until_stop();
    works_ = false;
    side_.leave();
  }

  store where_;
  guarded_side& side_;
  std::atomic<bool> works_{false};
  std::mutex mutex_;
  std::vector<election_transition> seen_;
  std::optional<election> job_;
  std::future<result<void>> campaign_;
};

}  // namespace herdlock_test
