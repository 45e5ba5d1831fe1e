// Takes out of a near cache what may not stay any more, in steps: with many entries and many rules
// it takes longer than others should have to wait.
#pragma once

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "cache/near/near_selection.hpp"
#include "cache/near/near_table.hpp"

namespace herdlock::runtime {

/// All members on the executor.
class near_sweep : public std::enable_shared_from_this<near_sweep> {
 public:
  static constexpr std::size_t keys_of_a_step = 256;

  near_sweep(boost::asio::any_io_executor executor, std::shared_ptr<detail::near_table> table)
      : executor_(std::move(executor)), table_(std::move(table)) {}

  /// Sweeps all entries that are there now, also when it is under way: later ones are judged when
  /// they come. `which` belongs to `owner`, without which it ends. Without memory to find them
  /// nothing stays.
  void start(near_selection const& which, std::weak_ptr<void> owner) {
    left_ = table_->judge_all();
    if (left_ != 0 && !std::exchange(under_way_, true)) step(which, owner);
  }

 private:
  void step(near_selection const& which, std::weak_ptr<void> const& owner) {
    auto const alive = owner.lock();
    if (!alive) return;
    auto const some = std::min(left_, keys_of_a_step);
    left_ -= some;
    try {
      for (auto const& key : table_->next_keys(some)) {
        if (!which.has(key)) table_->drop(key, detail::near_drop::unwanted);
      }
    } catch (std::bad_alloc const&) {
      left_ = 0;
      table_->clear();
    }
    under_way_ = left_ != 0;
    if (!under_way_) return;
    boost::asio::post(executor_,
                      [self = shared_from_this(), &which, owner] { self->step(which, owner); });
  }

  boost::asio::any_io_executor const executor_;
  std::shared_ptr<detail::near_table> const table_;
  std::size_t left_ = 0;  // entries that were not looked at yet
  bool under_way_ = false;
};

}  // namespace herdlock::runtime
