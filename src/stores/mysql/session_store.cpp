#include "stores/mysql/resource_queue.hpp"

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
    sweep_sometimes(state_, name);
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
    begin(state_, std::move(what),
          [name](connection& db, session_state& on) { return on.protocol->inspect(db, name); });
  }

  void force_release(resource name, handler<release_reply> done) override {
    order<release_reply> what{"force release of", name.str(), std::move(done)};
    begin(state_, std::move(what),
          [name](connection& db, session_state& on) { return force_release(on, db, name); });
  }

  void list(list_request request, handler<lease_page> done) override {
    order<lease_page> what{"list", "leases", std::move(done)};
    begin(state_, std::move(what),
          [request = std::move(request)](connection& db, session_state& on) {
            return list_held(on, db, request);
          });
  }

 private:
  // It may end in the middle of a call, so its caller keeps it.
  static std::shared_ptr<resource_queue> find_queue(session_state& state, resource const& name) {
    auto const found = state.queues.find(name.str());
    return found == state.queues.end() ? nullptr : found->second;
  }

  static awaitable<release_reply> force_release(session_state& state, connection& db,
                                                resource const& name) {
    auto const deadline = clock::now() + state.how.timeout / 2;
    bool const ended = co_await state.protocol->force_release(db, name, deadline);
    if (auto const queue = find_queue(state, name)) queue->check();
    co_return ended ? release_reply::released : release_reply::lost;
  }

  // A holder that died leaves its row behind: each is looked at.
  static awaitable<lease_page> list_held(session_state& state, connection& db,
                                         list_request const& request) {
    auto const most = std::min(page_size(request), limits::max_listed);
    auto page = co_await list_rows(db, state.how, request.cursor, most);
    std::vector<resource> held;
    for (auto const& name : page.names) {
      bool const is_held = co_await state.protocol->is_held(db, name);
      if (is_held) held.push_back(name);
    }
    page.names = std::move(held);
    co_return page;
  }

  std::shared_ptr<resource_queue> queue_of(resource const& name) {
    auto& queue = state_->queues[name.str()];
    if (!queue) queue = std::make_shared<resource_queue>(*state_, name);
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
