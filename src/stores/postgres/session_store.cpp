#include "stores/postgres/modes.hpp"

#include <map>
#include <utility>

#include "stores/postgres/holder_search.hpp"
#include "stores/postgres/resource_queue.hpp"

namespace herdlock::postgres {
namespace {

using stores::order;
using stores::pending_operations;

class session_store final : public lease_store {
 public:
  session_store(settings what, std::shared_ptr<pending_operations> pending,
                std::shared_ptr<store_warnings> warnings)
      : pending_(std::move(pending)),
        state_(std::make_shared<store_state>(
            store_state{.what = std::move(what),
                        .executor = pending_->executor(),
                        .ends = stores::lease_ends(pending_->executor())})) {
    auto const& executor = pending_->executor();
    auto needed = session_preparation(state_->what);
    needed.found = std::move(warnings);
    state_->commands =
        std::make_shared<command_connection>(executor, state_->what, std::move(needed));
    state_->sessions = std::make_shared<connection_pool>(executor, state_->what, state_->commands);
    state_->commands->set_listener(state_->sessions);
    state_->idle = [all = std::weak_ptr(queues_), executor](resource const& name) {
      // Behind whoever is in the middle of a call to it.
      asio::post(executor, [all, name] {
        auto const queues = all.lock();
        auto const found = queues ? queues->find(name.str()) : queues_type::iterator{};
        if (queues && found != queues->end() && found->second->unused()) queues->erase(found);
      });
    };
  }

  ~session_store() override {
    asio::post(pending_->executor(), [pending = pending_, state = state_, queues = queues_] {
      pending->close();
      state->sessions->close();
      state->commands->close();
      for (auto const& [name, queue] : *queues) queue->close();
      queues->clear();
    });
  }

  void acquire(acquire_request request, handler<acquire_reply> done) override {
    order<acquire_reply> what{"acquire", request.name.str(), std::move(done)};
    auto const queue = queue_of(request.name);
    auto const one = std::make_shared<waiter>(pending_, std::move(what), std::move(request),
                                              state_->what.timeout + state_->what.session_grace);
    if (one->admit()) queue->enter(one);
  }

  // Its session answers, or is ended before the time is up. A deadline beside that would be in its
  // way:
  //   1. the session is silent, and this process stands still;
  //   2. when it goes on, both times are up; the session is ended, which frees the lock;
  //   3. the deadline is told first, and its caller, who has lost, hears of a delay.
  void renew(resource name, owner_token owner, milliseconds ttl,
             handler<renew_reply> done) override {
    order<renew_reply> what{"renew", name.str(), std::move(done)};
    auto const one = std::make_shared<stores::operation<renew_reply>>(
        pending_, std::move(what), clock::now() + limits::max_ttl);
    if (!one->admit()) return;
    queue_of(name)->renew(owner, ttl, [one](renew_reply told) { one->complete_later(told); });
  }

  void release(resource name, owner_token owner, handler<release_reply> done) override {
    auto const one = pending_->begin("release", name.str(), std::move(done));
    if (!one) return;
    queue_of(name)->release(owner, [one](release_reply told) { one->complete_later(told); });
  }

  void on_lease_end(std::function<void(lease_end const&)> told) override {
    state_->ends.listen(std::move(told));
  }

  void inspect(resource name, handler<std::optional<lease_info>> done) override {
    auto const one = pending_->begin("inspect", name.str(), std::move(done));
    if (!one) return;
    auto on_found = [queue = queue_of(name), one](found_holder const& found) {
      if (!found) return one->fail(found.error());
      auto info = *found;
      std::size_t const far = info ? info->waiting : 0;
      if (auto const here = queue->info()) info = here;
      if (info) info->waiting = far + queue->waiting();
      one->complete(std::move(info));
    };
    find_holder(state_->commands, name, std::move(on_found));
  }

  void force_release(resource name, handler<release_reply> done) override {
    auto const one = pending_->begin("force release of", name.str(), std::move(done));
    if (!one) return;
    auto const queue = queue_of(name);
    if (queue->info()) {
      return queue->take_away([one](release_reply told) { one->complete_later(told); });
    }
    ask(*state_->commands, one, {"force", {as_bytes(name.str())}}, [](rows const& ended) {
      return ended.count() > 0 ? release_reply::released : release_reply::lost;
    });
  }

  void list(list_request request, handler<lease_page> done) override {
    ask_page(*state_->commands, pending_->begin("list", "leases", std::move(done)), request);
  }

 private:
  using queues_type = std::map<std::string, std::shared_ptr<resource_queue>>;

  std::shared_ptr<resource_queue> queue_of(resource const& name) {
    auto& queue = (*queues_)[name.str()];
    if (!queue) {
      queue = std::make_shared<resource_queue>(state_, name);
      state_->idle(name);
    }
    return queue;
  }

  std::shared_ptr<pending_operations> pending_;
  std::shared_ptr<store_state> state_;
  std::shared_ptr<queues_type> queues_ = std::make_shared<queues_type>();
};

}  // namespace

std::shared_ptr<lease_store> make_session_store(settings what,
                                                std::shared_ptr<pending_operations> pending,
                                                std::shared_ptr<store_warnings> found) {
  return std::make_shared<session_store>(std::move(what), std::move(pending), std::move(found));
}

}  // namespace herdlock::postgres
