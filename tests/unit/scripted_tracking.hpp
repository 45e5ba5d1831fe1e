// The tracking half of a scripted store: one link, which the test can push over.
#pragma once

#include <array>
#include <boost/asio/post.hpp>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <herdlock/tracking_store.hpp>

#include "scripted_cache_store.hpp"

namespace herdlock::scripted {

class scripted_tracking final : public tracking_store {
 public:
  static constexpr link_id link{1};

  scripted_tracking(asio::any_io_executor executor, std::shared_ptr<scripted_cache_store> values)
      : executor_(std::move(executor)), values_(std::move(values)) {}

  bool refuses = false;  // to push
  std::size_t listeners = 0;
  std::size_t reads = 0;
  bool refuses_pings = false;
  std::size_t pings = 0;

  void push(std::string_view key) const {
    std::array const keys{key};
    if (auto const to = listener_.lock()) to->on_changed(link, keys);
  }

  void push_all() const {
    if (auto const to = listener_.lock()) to->on_all_changed(link);
  }
  void cut() const {
    auto const to = listener_.lock();
    if (!to) return;
    to->on_link_down(link);
    to->on_link_up(link, clock::now());
  }

  void listen(std::weak_ptr<tracking_listener> to) override {
    ++listeners;
    listener_ = std::move(to);
    asio::post(executor_, [this] {
      auto const told = listener_.lock();
      if (!told) return;
      if (!refuses) return told->on_link_up(link, clock::now());
      told->on_link_refused(link, clock::now(), make_failure(errc::access_denied, "scripted"));
    });
  }
  void get(tracked_read request, handler<tracked_value> done) override {
    ++reads;
    bool const tracked = request.sending(link);
    auto shared = std::make_shared<handler<tracked_value>>(std::move(done));
    values_->get(request.key, request.form, [this, tracked, shared](result<cache_lookup> found) {
      if (found.has_error()) return std::move(*shared)(std::move(found).error());
      tracked_value got{*std::move(found), std::nullopt, values_->ttl_left};
      if (tracked) got.over = link;
      std::move (*shared)(std::move(got));
    });
  }
  void ping(link_id, handler<void> done) override {
    ++pings;
    if (refuses_pings) {
      return detail::post_result<void>(executor_, std::move(done),
                                       make_failure(errc::unavailable, "scripted"));
    }
    detail::post_result<void>(executor_, std::move(done), boost::system::in_place_value);
  }
  void ask_again() override {}
  void touch(std::vector<cache_key>, handler<void> done) override {
    detail::post_result<void>(executor_, std::move(done), boost::system::in_place_value);
  }
  void evictions(handler<eviction_news> done) override {
    detail::post_result<eviction_news>(executor_, std::move(done), eviction_news{});
  }
  slot_function slot_of() const override { return nullptr; }

 private:
  asio::any_io_executor executor_;
  std::shared_ptr<scripted_cache_store> values_;
  std::weak_ptr<tracking_listener> listener_;
};

}  // namespace herdlock::scripted
