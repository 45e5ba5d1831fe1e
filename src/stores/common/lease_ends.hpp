// Tells the runtime of leases whose session has ended.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <herdlock/backend.hpp>

namespace herdlock::stores {

/// A store's lease_store::on_lease_end().
class lease_ends {
 public:
  using listener = std::function<void(lease_end const&)>;

  explicit lease_ends(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}

  /// Before the first request.
  void listen(listener told) { told_ = std::make_shared<listener const>(std::move(told)); }

  /// Behind each answer that was given before, which takes up to two events to its handler
  /// (operation::complete_later): who does not have the lease yet could do nothing with its end.
  void tell(resource name, owner_token owner, std::string why) const {
    if (!told_) return;
    auto last = [told = told_, what = lease_end{std::move(name), std::move(owner),
                                                std::move(why)}] { (*told)(what); };
    boost::asio::post(executor_, [executor = executor_, last = std::move(last)]() mutable {
      boost::asio::post(executor, std::move(last));
    });
  }

 private:
  boost::asio::any_io_executor executor_;
  std::shared_ptr<listener const> told_;
};

}  // namespace herdlock::stores
