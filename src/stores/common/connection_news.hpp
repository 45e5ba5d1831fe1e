// Tells the runtime that the store's connection has come up anew.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace herdlock::stores {

/// A store's lease_store::on_new_connection(). Some stores connect as soon as they are made, so
/// there may be news while another thread still says who listens.
class connection_news {
 public:
  explicit connection_news(boost::asio::any_io_executor executor)
      : executor_(std::move(executor)) {}

  /// Before the first request, on any thread. What came before that is no news to anybody.
  void listen(std::function<void()> told) {
    auto listener = std::make_shared<std::function<void()> const>(std::move(told));
    std::lock_guard const alone(mutex_);
    told_ = std::move(listener);
  }

  /// In an event of its own.
  void tell() const {
    std::lock_guard const alone(mutex_);
    if (told_) boost::asio::post(executor_, [told = told_] { (*told)(); });
  }

 private:
  boost::asio::any_io_executor executor_;
  std::mutex mutable mutex_;
  std::shared_ptr<std::function<void()> const> told_;
};

}  // namespace herdlock::stores
