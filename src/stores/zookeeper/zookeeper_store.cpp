#include "stores/zookeeper/zookeeper_store.hpp"

#include <herdlock/url_scheme.hpp>

#include "stores/common/numbers.hpp"
#include "stores/zookeeper/queries.hpp"

namespace herdlock {
namespace zookeeper {
namespace {

class store final : public lease_store {
 public:
  explicit store(std::shared_ptr<store_state> state) : state_(std::move(state)) {}

  ~store() override {
    state_->close_session();
    asio::post(state_->pending()->executor(), [state = state_] { state->close(); });
  }

  void acquire(acquire_request request, handler<acquire_reply> done) override {
    stores::order<acquire_reply> what{"acquire", request.name.str(), std::move(done)};
    auto const most = state_->how().timeout + state_->how().session_grace;
    auto const one =
        std::make_shared<waiter>(state_->pending(), std::move(what), std::move(request), most);
    if (!one->admit()) return;
    auto const& asked = one->request;
    bool const known = state_->find(asked.name, asked.owner) != nullptr;
    if (known || asked.wait > milliseconds{0}) return state_->enqueue(one);
    tell_holder(state_, one, when_free::enqueue);
  }

  void renew(resource name, owner_token owner, milliseconds ttl,
             handler<renew_reply> done) override {
    auto const one = state_->pending()->begin("renew", name.str(), std::move(done));
    if (!one) return;
    auto const who = state_->find(name, owner);
    if (!who) return one->complete_later(renew_reply::lost);
    who->renew(one, ttl);
  }

  void release(resource name, owner_token owner, handler<release_reply> done) override {
    auto const one = state_->pending()->begin("release", name.str(), std::move(done));
    if (!one) return;
    auto const who = state_->find(name, owner);
    if (!who) return remove_node(state_, name, owner, one);
    who->release(one);
  }

  void on_lease_end(std::function<void(lease_end const&)> told) override {
    state_->ends().listen(std::move(told));
  }

  void inspect(resource name, handler<std::optional<lease_info>> done) override {
    auto const one = state_->pending()->begin("inspect", name.str(), std::move(done));
    if (one) zookeeper::inspect(state_, name, one);
  }

  void force_release(resource name, handler<release_reply> done) override {
    auto const one = state_->pending()->begin("force release of", name.str(), std::move(done));
    if (one) remove_node(state_, name, std::nullopt, one);
  }

  void list(list_request request, handler<lease_page> done) override {
    auto const one = state_->pending()->begin("list", "leases", std::move(done));
    if (one) zookeeper::list(state_, std::move(request), one);
  }

 private:
  std::shared_ptr<store_state> const state_;
};

}  // namespace
}  // namespace zookeeper

result<backend> open_zookeeper(store_url url, asio::any_io_executor executor) {
  auto how = zookeeper::take_settings(std::move(url));
  if (!how) return how.error();
  auto const name = how->display_name;
  auto const longest = how->longest_validity();
  auto pending = std::make_shared<stores::pending_operations>(
      std::move(executor),
      stores::pending_settings{.store = "zookeeper",
                               .late = name + " did not answer within " + in_ms(how->timeout) +
                                       "; is it running, and a majority of the ensemble up?",
                               .closed = name + " is being closed",
                               .max_pending = how->max_pending,
                               .timeout = how->timeout});
  auto state = std::make_shared<zookeeper::store_state>(std::move(pending), std::move(*how));
  state->start();
  auto store = std::make_shared<zookeeper::store>(std::move(state));
  store_traits traits{.queues = true, .across_processes = true, .across_hosts = true};
  // Why: docs/stores/zookeeper.md#what-a-session-proves
  traits.longest_validity = longest;
  return backend{std::move(store), nullptr, traits, name};
}

std::span<url_scheme const> v0::zookeeper_schemes() {
  static constexpr url_scheme schemes[] = {
      {"zk", open_zookeeper, examine_zookeeper},
  };
  return schemes;
}

}  // namespace herdlock
