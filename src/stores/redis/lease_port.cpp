#include "stores/redis/lease_port.hpp"

#include "stores/redis/durability/confirmed_operation.hpp"
#include "stores/redis/lease_list.hpp"
#include "stores/redis/queue/lease_messages.hpp"

namespace herdlock::redis {
namespace {

class lease_port final : public lease_store {
 public:
  lease_port(std::shared_ptr<router> commands, std::shared_ptr<lease_queues> queue,
             std::shared_ptr<confirmation> to_confirm)
      : router_(std::move(commands)),
        queue_(std::move(queue)),
        confirmation_(std::move(to_confirm)),
        list_(router_->executor(), leases_at(router_)) {}

  void acquire(acquire_request request, handler<acquire_reply> done) override {
    if (confirmation_) {
      done = confirmed(
          confirmation_,
          {what_happened::granted, request.name, request.owner, clock::now() + request.ttl},
          request.ttl, std::move(done));
    }
    if (!done) return;
    // Also without a wait, right behind a wait of the same owner.
    // Why: docs/stores/redis.md#one-owner-goes-one-way
    bool const waits =
        request.wait > milliseconds{0} || queue_->knows(request.name.str(), request.owner);
    if (waits) return queue_->wait(std::move(request), std::move(done));
    start(acquire_message{std::move(request), floor()}, std::move(done));
  }
  void renew(resource name, owner_token owner, milliseconds ttl,
             handler<renew_reply> done) override {
    if (confirmation_) {
      done = confirmed(confirmation_, {what_happened::renewed, name, owner, clock::now() + ttl},
                       ttl, std::move(done));
    }
    if (!done) return;
    start(renew_message{std::move(name), std::move(owner), ttl}, std::move(done));
  }
  void release(resource name, owner_token owner, handler<release_reply> done) override {
    // Why: docs/stores/redis.md#a-release-goes-out-alone
    start(release_message{std::move(name), std::move(owner), floor()}, std::move(done));
  }
  void leave(leave_request request, handler<release_reply> done) override {
    start(pass_on_message{std::move(request)}, std::move(done));
  }
  void inspect(resource name, handler<std::optional<lease_info>> done) override {
    start(inspect_message{std::move(name)}, std::move(done));
  }
  void force_release(resource name, handler<release_reply> done) override {
    start(force_release_message{std::move(name), floor()}, std::move(done));
  }
  void list(list_request request, handler<lease_page> done) override {
    list_.part(std::move(request), std::move(done));
  }
  void on_new_connection(std::function<void()> told) override {
    if (auto const& news = router_->how().news) news->listen(std::move(told));
  }
  bool polls(resource const& name) const override { return queue_->polls(name.str()); }
  bool may_have_sent() const override { return router_->may_have_sent(); }

 private:
  std::int64_t floor() const { return fence_floor_of(*router_); }

  template <class Message>
  void start(Message call, handler<typename Message::value_type> done) {
    operation<Message>::start(*router_, std::move(call), std::move(done));
  }
  std::shared_ptr<router> router_;
  std::shared_ptr<lease_queues> queue_;
  std::shared_ptr<confirmation> confirmation_;  // null: they count at once
  lease_list list_;
};

}  // namespace

std::shared_ptr<lease_store> make_lease_port(std::shared_ptr<router> commands,
                                             std::shared_ptr<lease_queues> queue,
                                             std::shared_ptr<confirmation> confirmed) {
  return std::make_shared<lease_port>(std::move(commands), std::move(queue), std::move(confirmed));
}

}  // namespace herdlock::redis
