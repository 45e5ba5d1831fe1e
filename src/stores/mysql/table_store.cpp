#include "stores/mysql/store_state.hpp"

namespace herdlock::mysql {
namespace {

using stores::order;

class table_store final : public lease_store {
 public:
  explicit table_store(std::shared_ptr<store_state> state) : state_(std::move(state)) {}
  ~table_store() override { state_->close(); }

  void acquire(acquire_request request, handler<acquire_reply> done) override {
    order<acquire_reply> what{"acquire", request.name.str(), std::move(done)};
    resource const name = request.name;
    begin(state_, std::move(what), [request = std::move(request)](connection& db, store_state& on) {
      auto& busy_lately = on.busy_lately[request.name.str()];
      return acquire_row(db, on.how, request, busy_lately);
    });
    sweep_sometimes(state_, name);
  }

  void renew(resource name, owner_token owner, milliseconds ttl,
             handler<renew_reply> done) override {
    order<renew_reply> what{"renew", name.str(), std::move(done)};
    acquire_request request{std::move(name), std::move(owner), ttl};
    begin(state_, std::move(what), [request = std::move(request)](connection& db, store_state& on) {
      return renew_row(db, on.how, request);
    });
  }

  void release(resource name, owner_token owner, handler<release_reply> done) override {
    order<release_reply> what{"release", name.str(), std::move(done)};
    free(std::move(what), std::move(name), std::move(owner));
  }

  void leave(leave_request request, handler<release_reply> done) override {
    order<release_reply> what{"leave", request.name.str(), std::move(done)};
    begin(state_, std::move(what), [request = std::move(request)](connection& db, store_state& on) {
      return leave_row(db, on.how, request);
    });
  }

  void inspect(resource name, handler<std::optional<lease_info>> done) override {
    order<std::optional<lease_info>> what{"inspect", name.str(), std::move(done)};
    begin(state_, std::move(what),
          [name](connection& db, store_state& on) { return inspect_row(db, on.how, name); });
  }

  void force_release(resource name, handler<release_reply> done) override {
    order<release_reply> what{"force release of", name.str(), std::move(done)};
    free(std::move(what), std::move(name), std::nullopt);
  }

  void list(list_request request, handler<lease_page> done) override {
    order<lease_page> what{"list", "leases", std::move(done)};
    begin(state_, std::move(what), [request = std::move(request)](connection& db, store_state& on) {
      return list_rows(db, on.how, request.cursor, page_size(request));
    });
  }

  void on_new_connection(std::function<void()> told) override {
    state_->news.listen(std::move(told));
  }

 private:
  void free(order<release_reply> what, resource name, std::optional<owner_token> owner) {
    begin(state_, std::move(what),
          [name = std::move(name), owner = std::move(owner)](connection& db, store_state& on) {
            return free_row(db, on.how, name, owner);
          });
  }

  std::shared_ptr<store_state> state_;
};

}  // namespace

std::shared_ptr<lease_store> make_table_store(std::shared_ptr<store_state> state) {
  return std::make_shared<table_store>(std::move(state));
}

}  // namespace herdlock::mysql
