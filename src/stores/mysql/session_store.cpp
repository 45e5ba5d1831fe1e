#include "stores/mysql/session_store.hpp"

namespace herdlock::mysql {
namespace {

using stores::order;

class session_store final : public lease_store {
 public:
  explicit session_store(std::shared_ptr<session_state> state) : state_(std::move(state)) {}

  // What the sessions hold is free as soon as the server sees them go.
  ~session_store() override {
    state_->close();
    asio::post(state_->pending->executor(), [state = state_] {
      auto const all = std::move(state->queues);
      state->queues.clear();
      for (auto const& [name, each] : all) each->close();
    });
  }

  void acquire(acquire_request request, handler<acquire_reply> done) override {
    order<acquire_reply> what{"acquire", request.name.str(), std::move(done)};
    resource const name = request.name;
    auto const who = std::make_shared<waiter>(state_->pending, std::move(what), std::move(request),
                                              state_->how.timeout + state_->how.session_grace);
    if (!who->admit()) return;
    queue_of(name)->ask(who);
    if (++state_->grants % grants_per_sweep != 0) return;
    state_->tasks.add([raw = state_.get(), name] { sweep(*raw, name); });
  }

  void renew(resource name, owner_token owner, milliseconds ttl,
             handler<renew_reply> done) override {
    order<renew_reply> what{"renew", name.str(), std::move(done)};
    ask_queue(name, std::move(what),
              [&](resource_queue& queue, auto const& op) { queue.renew(op, owner, ttl); });
  }

  void release(resource name, owner_token owner, handler<release_reply> done) override {
    ask_queue(name, order<release_reply>{"release", name.str(), std::move(done)},
              [&](resource_queue& queue, auto const& op) { queue.release(op, owner); });
  }

  void on_lease_end(std::function<void(lease_end const&)> told) override {
    state_->ends.listen(std::move(told));
  }

  void inspect(resource name, handler<std::optional<lease_info>> done) override {
    order<std::optional<lease_info>> what{"inspect", name.str(), std::move(done)};
    begin(state_, std::move(what), [raw = state_.get(), name](connection& db) {
      return result<std::optional<lease_info>>(raw->protocol->inspect(db, name));
    });
  }

  void force_release(resource name, handler<release_reply> done) override {
    order<release_reply> what{"force release of", name.str(), std::move(done)};
    begin(state_, std::move(what), [raw = state_.get(), name](connection& db) {
      auto const deadline = clock::now() + raw->how.timeout / 2;
      bool const ended = raw->protocol->force_release(db, name, deadline);
      asio::post(raw->pending->executor(), [weak = raw->weak_from_this(), name] {
        auto const state = weak.lock();
        auto const queue = state ? find_queue(*state, name) : nullptr;
        if (queue) queue->check();
      });
      return result<release_reply>(ended ? release_reply::released : release_reply::lost);
    });
  }

  // A holder that died leaves its row behind: each is looked at.
  void list(list_request request, handler<lease_page> done) override {
    order<lease_page> what{"list", "leases", std::move(done)};
    begin(state_, std::move(what),
          [raw = state_.get(), request = std::move(request)](connection& db) {
            auto const most = std::min(page_size(request), limits::max_listed);
            auto page = list_rows(db, raw->how, request.cursor, most);
            std::erase_if(page.names,
                          [&](resource const& name) { return !raw->protocol->is_held(db, name); });
            return result<lease_page>(std::move(page));
          });
  }

 private:
  // It may end in the middle of a call, so its caller keeps it.
  static std::shared_ptr<resource_queue> find_queue(session_state& state, resource const& name) {
    auto const found = state.queues.find(name.str());
    return found == state.queues.end() ? nullptr : found->second;
  }

  std::shared_ptr<resource_queue> queue_of(resource const& name) {
    auto& queue = state_->queues[name.str()];
    if (!queue) queue = std::make_shared<resource_queue>(state_, name);
    return queue;
  }

  template <class Reply, class Ask>
  void ask_queue(resource const& name, order<Reply> what, Ask ask) {
    auto const op = std::make_shared<stores::operation<Reply>>(state_->pending, std::move(what),
                                                               clock::now() + state_->how.timeout);
    if (!op->admit()) return;
    auto const queue = find_queue(*state_, name);
    if (!queue) return op->complete_later(Reply::lost);
    ask(*queue, op);
  }

  std::shared_ptr<session_state> state_;
};

}  // namespace

std::shared_ptr<lease_store> make_session_store(std::shared_ptr<session_state> state) {
  return std::make_shared<session_store>(std::move(state));
}

}  // namespace herdlock::mysql
