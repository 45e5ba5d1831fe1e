// Tells the runtime that the store's connection has come up anew.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <memory>
#include <utility>

namespace herdlock::stores {

/// A store's lease_store::on_new_connection(). All members on the executor.
class connection_news {
 public:
  explicit connection_news(boost::asio::any_io_executor executor)
      : executor_(std::move(executor)) {}

  /// Before the first request.
  void listen(std::function<void()> told) {
    told_ = std::make_shared<std::function<void()> const>(std::move(told));
  }

  /// In an event of its own.
  void tell() const {
    if (told_) boost::asio::post(executor_, [told = told_] { (*told)(); });
  }

 private:
  boost::asio::any_io_executor executor_;
  std::shared_ptr<std::function<void()> const> told_;
};

}  // namespace herdlock::stores
