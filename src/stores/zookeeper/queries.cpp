#include "stores/zookeeper/queries.hpp"

#include <zookeeper/zookeeper.h>

#include <algorithm>

namespace herdlock::zookeeper {
namespace {

// A query is asked again after a lost connection, until the operation's deadline.
template <class Operation>
class query : public std::enable_shared_from_this<query<Operation>> {
 public:
  query(std::shared_ptr<store_state> store, std::shared_ptr<Operation> const& one)
      : store_(std::move(store)), one_(one) {}
  virtual ~query() = default;
  virtual void begin() = 0;

 protected:
  /// `done(operation, reply)` with ZOK or ZNONODE; everything else is dealt with.
  template <class Done>
  void ask(request what, Done done) {
    auto const alive = one_.lock();
    if (!alive || alive->completed()) return;
    auto const path = what.path;
    store_->ensemble().call(
        std::move(what), alive,
        [self = this->shared_from_this(), this, path, round = round_,
         done = std::move(done)](reply answer) {
          auto const asked = one_.lock();
          if (!asked || asked->completed() || round != round_) return;
          if (answer.code == ZCONNECTIONLOSS || answer.code == ZSESSIONEXPIRED) {
            ++round_;  // what was asked together is asked again together, once
            return begin();
          }
          if (answer.code != ZOK && answer.code != ZNONODE) {
            return asked->fail(store_->explain(answer.code, path));
          }
          done(asked, std::move(answer));
        });
  }

  store_state& store() { return *store_; }

 private:
  std::shared_ptr<store_state> const store_;
  std::weak_ptr<Operation> const one_;
  int round_ = 0;
};

class busy_query final : public query<waiter> {
 public:
  busy_query(std::shared_ptr<store_state> store, std::shared_ptr<waiter> const& one, when_free what)
      : query(std::move(store), one),
        name_(one->request.name),
        parent_(this->store().path_of(name_)),
        when_free_(what) {}

  void begin() override {
    look(when_free_ == when_free::enqueue ? server::may_lag : server::is_in_step);
  }

 private:
  enum class server { may_lag, is_in_step };

  // The server may lag behind what another client was told, that a release is done, say. It catches
  // up with a sync, for which only those pay who would be told that it is held. Whose wait is over
  // is told "busy" in any case.
  void look(server how) {
    ask({verb::children, parent_}, [this, how](auto const& one, reply answer) {
      auto const order = in_order(std::move(answer.names));
      if (order.empty()) return on_free(one);
      if (how == server::is_in_step) return tell(order.front());
      ask({verb::sync, parent_}, [](auto const&, reply const&) {});
      look(server::is_in_step);
    });
  }

  void tell(std::string const& holders_node) {
    ask({verb::get, parent_ + "/" + holders_node}, [this](auto const& asked, reply holder) {
      if (holder.code == ZNONODE) return begin();
      auto text = decode(holder.text);
      asked->complete(acquire_reply(busy{std::move(text.label), text.ttl}));
    });
  }

  void on_free(std::shared_ptr<waiter> const& one) {
    if (when_free_ == when_free::enqueue) return store().enqueue(one);
    one->complete(acquire_reply(busy{}));
  }

  resource const name_;
  std::string const parent_;
  when_free const when_free_;
};

class inspection final : public query<inspect_operation> {
 public:
  inspection(std::shared_ptr<store_state> store, resource const& name,
             std::shared_ptr<inspect_operation> const& one)
      : query(std::move(store), one), parent_(this->store().path_of(name)) {}

  // A server may lag behind what another client was told; it catches up with the sync.
  void begin() override {
    ask({verb::sync, parent_}, [](auto const&, reply const&) {});
    ask({verb::children, parent_}, [this](auto const& one, reply answer) {
      order_ = in_order(std::move(answer.names));
      if (order_.empty()) return one->complete(std::optional<lease_info>());
      ask({verb::get, parent_ + "/" + order_.front()}, [this](auto const& asked, reply holder) {
        if (holder.code == ZNONODE) return begin();
        on_holder(asked, std::move(holder));
      });
    });
  }

 private:
  void on_holder(std::shared_ptr<inspect_operation> const& one, reply holder) {
    auto text = decode(holder.text);
    info_ = lease_info{std::move(text.label), holder.fencing, text.ttl, order_.size() - 1, {}};
    listed_ = std::min(order_.size() - 1, limits::max_listed);
    if (listed_ == 0) return one->complete(std::optional(info_));
    for (std::size_t i = 0; i < listed_; ++i) {
      // Answers come in the order of the requests. Who has gone meanwhile has no label.
      ask({verb::get, parent_ + "/" + order_[i + 1]}, [this, i](auto const& asked, reply answer) {
        if (answer.code == ZOK) info_.waiters.push_back(decode(answer.text).label);
        if (i + 1 == listed_) asked->complete(std::optional(info_));
      });
    }
  }

  std::string const parent_;
  std::vector<std::string> order_;
  std::size_t listed_ = 0;
  lease_info info_{};
};

// The server tells all names at once; of each that is looked at, whether somebody is in line.
class listing final : public query<list_operation> {
 public:
  listing(std::shared_ptr<store_state> store, list_request asked,
          std::shared_ptr<list_operation> const& one)
      : query(std::move(store), one), asked_(std::move(asked)), root_(this->store().how().chroot) {}

  void begin() override {
    std::string const top = root_.empty() ? "/" : root_;
    ask({verb::sync, top}, [](auto const&, reply const&) {});
    ask({verb::children, top},
        [this](auto const& one, reply answer) { on_names(one, answer.names); });
  }

 private:
  void on_names(std::shared_ptr<list_operation> const& one,
                std::vector<std::string> const& components) {
    std::vector<resource> names;
    for (auto const& each : components) {
      auto name = resource_of(each);
      if (name && name->str() > asked_.cursor) names.push_back(*std::move(name));
    }
    auto const most = std::min({page_size(asked_), limits::max_listed, names.size()});
    auto const middle = names.begin() + static_cast<std::ptrdiff_t>(most);
    std::ranges::partial_sort(names, middle, {}, &resource::str);
    page_ = {};
    if (most == 0) return one->complete(std::move(page_));
    if (most < names.size()) page_.cursor = names[most - 1].str();
    names.erase(middle, names.end());
    open_ = names.size();
    for (auto const& name : names) look_at(name);
  }

  void look_at(resource const& name) {
    ask({verb::children, store().path_of(name)}, [this, name](auto const& one, reply answer) {
      if (!in_order(std::move(answer.names)).empty()) page_.names.push_back(name);
      if (--open_ == 0) one->complete(std::move(page_));
    });
  }

  list_request const asked_;
  std::string const root_;
  lease_page page_;
  std::size_t open_ = 0;
};

class removal final : public query<release_operation> {
 public:
  removal(std::shared_ptr<store_state> store, resource const& name,
          std::optional<owner_token> const& owner, std::shared_ptr<release_operation> const& one)
      : query(std::move(store), one), parent_(this->store().path_of(name)), owner_(owner) {}

  void begin() override {
    if (!removing_.empty()) return remove();  // it had no answer
    ask({verb::sync, parent_}, [](auto const&, reply const&) {});
    ask({verb::children, parent_}, [this](auto const& one, reply answer) {
      auto const order = in_order(std::move(answer.names));
      auto const found = std::ranges::find_if(
          order, [this](auto const& each) { return !owner_ || is_of(*owner_, each); });
      if (found == order.end()) return one->complete(release_reply::lost);
      removing_ = parent_ + "/" + *found;
      outcome_ = found == order.begin() ? release_reply::released : release_reply::lost;
      remove();
    });
  }

 private:
  void remove() {
    ++tries_;
    ask({verb::remove, removing_}, [this](auto const& one, reply const& answer) {
      // Not there any more: our own work, when the first answer was lost.
      if (answer.code == ZOK || tries_ > 1) return one->complete(outcome_);
      tries_ = 0;
      removing_.clear();
      begin();
    });
  }

  std::string const parent_;
  std::optional<owner_token> const owner_;
  std::string removing_;
  release_reply outcome_ = release_reply::lost;  ///< of the removal: a waiter holds nothing
  int tries_ = 0;
};

}  // namespace

void tell_holder(std::shared_ptr<store_state> const& store, std::shared_ptr<waiter> const& one,
                 when_free what) {
  std::make_shared<busy_query>(store, one, what)->begin();
}

void inspect(std::shared_ptr<store_state> const& store, resource const& name,
             std::shared_ptr<inspect_operation> const& one) {
  std::make_shared<inspection>(store, name, one)->begin();
}

void list(std::shared_ptr<store_state> const& store, list_request asked,
          std::shared_ptr<list_operation> const& one) {
  std::make_shared<listing>(store, std::move(asked), one)->begin();
}

void remove_node(std::shared_ptr<store_state> const& store, resource const& name,
                 std::optional<owner_token> const& owner,
                 std::shared_ptr<release_operation> const& one) {
  std::make_shared<removal>(store, name, owner, one)->begin();
}

}  // namespace herdlock::zookeeper
