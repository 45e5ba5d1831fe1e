// Takes out of a near cache what may not stay any more, in steps: with many entries and many rules
// it takes longer than others should have to wait.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "local/near_table.hpp"
#include "runtime/near_selection.hpp"

namespace herdlock::runtime {

/// All members on the executor.
class near_sweep : public std::enable_shared_from_this<near_sweep> {
 public:
  static constexpr std::size_t keys_of_a_step = 256;

  near_sweep(boost::asio::any_io_executor executor, std::shared_ptr<detail::near_table> table)
      : executor_(std::move(executor)), table_(std::move(table)) {}

  /// From the first key on, also when it is under way. `which` belongs to `owner`, without which it
  /// ends. Without memory to find it nothing stays.
  void start(near_selection const& which, std::weak_ptr<void> owner) {
    try {
      keys_ = table_->keys();
    } catch (std::bad_alloc const&) {
      keys_.clear();
      table_->clear();
    }
    if (!keys_.empty() && !std::exchange(under_way_, true)) step(which, owner);
  }

 private:
  void step(near_selection const& which, std::weak_ptr<void> const& owner) {
    auto const alive = owner.lock();
    if (!alive) return;
    for (std::size_t i = 0; i < keys_of_a_step && !keys_.empty(); ++i) {
      if (!which.has(keys_.back())) table_->drop(keys_.back());
      keys_.pop_back();
    }
    under_way_ = !keys_.empty();
    if (!under_way_) return;
    boost::asio::post(executor_,
                      [self = shared_from_this(), &which, owner] { self->step(which, owner); });
  }

  boost::asio::any_io_executor const executor_;
  std::shared_ptr<detail::near_table> const table_;
  std::vector<std::string> keys_;  // that were not looked at yet
  bool under_way_ = false;
};

}  // namespace herdlock::runtime
