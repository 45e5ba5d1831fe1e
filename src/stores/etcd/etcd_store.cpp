#include "stores/etcd/etcd_store.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <herdlock/url_scheme.hpp>
#include <map>

#include "stores/common/tls_source.hpp"
#include "stores/etcd/queue_entry.hpp"
#include "stores/etcd/settings.hpp"

namespace herdlock {
namespace etcd {
namespace {

using stores::order;
using stores::pending_operations;

// The queues as this store knows them, which its handle and the operations under way share.
class resource_queues : public std::enable_shared_from_this<resource_queues> {
 public:
  resource_queues(std::shared_ptr<pending_operations> pending, store_state state)
      : pending_(std::move(pending)), store_(std::move(state)) {}

  std::shared_ptr<pending_operations> const& pending() const { return pending_; }

  /// The entry of the owner, made when there is none.
  std::shared_ptr<queue_entry> entry_of(resource const& name, owner_token const& owner);
  void close();
  void on_new_connection(std::function<void()> told) {
    store_.connections->on_new_connection(std::move(told));
  }

  asio::awaitable<void> inspect(resource name, std::shared_ptr<inspect_operation> op);
  /// The names of resources (`NAME/HEX` with a lease) among the next keys, in their order; the
  /// cursor is the last of these.
  asio::awaitable<void> list_part(herdlock::list_request asked, std::shared_ptr<list_operation> op);
  asio::awaitable<void> force_release(resource name, std::shared_ptr<release_operation> op);

 private:
  store_state state_for(resource const& name);
  asio::awaitable<milliseconds> remaining(key_entry const& holder);

  std::shared_ptr<pending_operations> pending_;
  store_state store_;
  /// Those that hold, wait or have something under way, by key.
  std::map<std::string, std::shared_ptr<queue_entry>, std::less<>> entries_;
  std::map<std::string, std::weak_ptr<fifo_gate>, std::less<>> gates_;  ///< by resource
};

std::shared_ptr<queue_entry> resource_queues::entry_of(resource const& name,
                                                       owner_token const& owner) {
  std::string const key = key_of(name, lease_id(name, owner, 0));
  auto& found = entries_[key];
  if (found) return found;
  auto forget = [weak = weak_from_this(), key, of = name.str()] {
    auto const self = weak.lock();
    if (!self) return;
    self->entries_.erase(key);
    auto const gate = self->gates_.find(of);
    // The entry that tells this still has it.
    if (gate != self->gates_.end() && gate->second.use_count() <= 1) self->gates_.erase(gate);
  };
  return found = std::make_shared<queue_entry>(state_for(name), name, owner, std::move(forget));
}

store_state resource_queues::state_for(resource const& name) {
  store_state state = store_;
  state.gate = gates_[name.str()].lock();
  if (!state.gate) {
    state.gate = std::make_shared<fifo_gate>(pending_->executor());
    gates_[name.str()] = state.gate;
  }
  return state;
}

void resource_queues::close() {
  pending_->close();
  auto const all = std::exchange(entries_, {});
  for (auto const& [key, one] : all) one->close();
  store_.watches->close();
  store_.leases->close();
}

// Of a holder in this process we know it to the millisecond. Nobody holds what was left.
asio::awaitable<milliseconds> resource_queues::remaining(key_entry const& holder) {
  auto const found = entries_.find(holder.key);
  if (found != entries_.end() && !from_value(holder.value).left) {
    if (auto const left = found->second->remaining(holder.key)) co_return *left;
  }
  co_return co_await time_left(store_.connections, holder, store_.connections->step_deadline());
}

asio::awaitable<void> resource_queues::inspect(resource name,
                                               std::shared_ptr<inspect_operation> op) {
  auto const self = shared_from_this();
  std::string const body = list_request(key_prefix(name), limits::max_listed + 1);
  auto const found = co_await store_.connections->ask(exchange::range, body);
  if (!found.reply) co_return op->fail(found.why);
  if (!found.reply->first()) co_return op->complete(std::optional<lease_info>());
  key_entry const holder = *found.reply->first();
  lease_info info;
  info.holder = from_value(holder.value).label;
  info.fencing.value = static_cast<std::uint64_t>(holder.create_revision);
  info.waiting = static_cast<std::size_t>(std::max<std::int64_t>(found.reply->count - 1, 0));
  for (std::size_t i = 1; i < found.reply->entries.size(); ++i) {
    info.waiters.push_back(from_value(found.reply->entries[i].value).label);
  }
  info.remaining = co_await remaining(holder);
  op->complete(std::optional<lease_info>(std::move(info)));
}

// The key alone: the lease of another client's session may carry other keys. Ours ends when its
// holder learns of it, or by itself.
asio::awaitable<void> resource_queues::force_release(resource name,
                                                     std::shared_ptr<release_operation> op) {
  auto const self = shared_from_this();
  std::string const look = list_request(key_prefix(name), 1);
  auto const found = co_await store_.connections->ask(exchange::range, look);
  if (!found.reply) co_return op->fail(found.why);
  auto const* first = found.reply->first();
  if (!first) co_return op->complete(release_reply::lost);
  std::string const body = remove_created_request(first->key, first->create_revision);
  auto const removed = co_await store_.connections->ask(exchange::txn, body);
  if (!removed.ok) co_return op->fail(removed.why);
  bool const done = removed.reply && (removed.reply->succeeded || removed.attempts > 1);
  // Nobody else ends the etcd lease of what was left.
  if (done && from_value(first->value).left) {
    std::string const lease = lease_request(first->lease);
    co_await store_.connections->call(path::revoke, lease, store_.connections->step_deadline());
  }
  op->complete(done ? release_reply::released : release_reply::lost);
}

// Keys of a lease that end in a number in hex are entries of queues, ours and those of etcd's own
// recipes.
std::optional<resource> resource_of(key_entry const& one) {
  constexpr std::size_t most_digits = 16;
  std::string_view const key = one.key;
  auto const slash = key.rfind('/');
  if (one.lease == 0 || slash == key.npos) return std::nullopt;
  auto const number = key.substr(slash + 1);
  bool const hex = number.find_first_not_of("0123456789abcdef") == number.npos;
  if (number.empty() || number.size() > most_digits || !hex) return std::nullopt;
  auto name = resource::parse(key.substr(0, slash));
  if (!name) return std::nullopt;
  return *std::move(name);
}

lease_page page_of(range_reply const& found, std::size_t most) {
  lease_page page;
  for (auto const& one : found.entries) {
    auto name = resource_of(one);
    // Those who wait for a resource stand beside its holder.
    if (name && (page.names.empty() || page.names.back() != *name)) {
      page.names.push_back(*std::move(name));
    }
  }
  if (found.entries.size() == most) page.cursor = found.entries.back().key;
  return page;
}

asio::awaitable<void> resource_queues::list_part(herdlock::list_request asked,
                                                 std::shared_ptr<list_operation> op) {
  auto const self = shared_from_this();
  auto const most = page_size(asked);
  std::string const body = keys_request(asked.cursor, most);
  auto const found = co_await store_.connections->ask(exchange::range, body);
  if (!found.reply) co_return op->fail(found.why);
  op->complete(page_of(*found.reply, most));
}

class store final : public lease_store {
 public:
  explicit store(std::shared_ptr<resource_queues> of) : queues_(std::move(of)) {}

  ~store() override {
    asio::post(queues_->pending()->executor(), [queues = queues_] { queues->close(); });
  }

  void acquire(acquire_request request, handler<acquire_reply> done) override {
    order<acquire_reply> what{"acquire", request.name.str(), std::move(done)};
    auto const pending = queues_->pending();
    auto const op = std::make_shared<waiter>(pending, std::move(what), std::move(request),
                                             pending->settings().timeout);
    if (op->admit()) queues_->entry_of(op->request.name, op->request.owner)->acquire(op);
  }

  void renew(resource name, owner_token owner, milliseconds ttl,
             handler<renew_reply> done) override {
    auto const op = queues_->pending()->begin("renew", name.str(), std::move(done));
    if (op) queues_->entry_of(name, owner)->renew(op, ttl);
  }

  void release(resource name, owner_token owner, handler<release_reply> done) override {
    auto const op = queues_->pending()->begin("release", name.str(), std::move(done));
    if (op) queues_->entry_of(name, owner)->release(op);
  }

  void leave(herdlock::leave_request request, handler<release_reply> done) override {
    auto const op = queues_->pending()->begin("leave", request.name.str(), std::move(done));
    if (!op) return;
    queues_->entry_of(request.name, request.owner)
        ->release(op, queue_entry::heir{std::move(request.left_to), request.ttl});
  }

  void on_new_connection(std::function<void()> told) override {
    queues_->on_new_connection(std::move(told));
  }

  void inspect(resource name, handler<std::optional<lease_info>> done) override {
    auto const op = queues_->pending()->begin("inspect", name.str(), std::move(done));
    if (op) run(queues_->inspect(std::move(name), op));
  }

  void force_release(resource name, handler<release_reply> done) override {
    auto const op = queues_->pending()->begin("force release of", name.str(), std::move(done));
    if (op) run(queues_->force_release(std::move(name), op));
  }

  void list(herdlock::list_request request, handler<lease_page> done) override {
    auto const op = queues_->pending()->begin("list", "leases", std::move(done));
    if (op) run(queues_->list_part(std::move(request), op));
  }

 private:
  void run(asio::awaitable<void> work) const {
    asio::co_spawn(queues_->pending()->executor(), std::move(work), asio::detached);
  }

  std::shared_ptr<resource_queues> queues_;
};

}  // namespace
}  // namespace etcd

result<backend> open_etcd(store_url url, asio::any_io_executor executor) {
  auto settings = etcd::parse_settings(std::move(url));
  if (!settings) return settings.error();
  auto const warnings = std::make_shared<store_warnings>();
  settings->warnings = warnings;
  if (settings->tls.source) settings->tls.source->tell(warnings);
  auto pending = std::make_shared<stores::pending_operations>(
      executor, stores::pending_settings{.store = settings->display_name,
                                         .late = "no answer within " + in_ms(settings->timeout) +
                                                 "; does the cluster have a leader?",
                                         .max_pending = settings->max_pending,
                                         .timeout = settings->timeout});
  std::string display_name = settings->display_name;
  auto connections =
      std::make_shared<etcd::connection_pool>(std::move(executor), std::move(*settings));
  auto watches = std::make_shared<etcd::watch_stream>(connections);
  auto leases = std::make_shared<etcd::lease_pool>(connections);
  auto unconfirmed = std::make_shared<etcd::unconfirmed_releases>(pending->settings().max_pending);
  auto queues = std::make_shared<etcd::resource_queues>(
      std::move(pending), etcd::store_state{std::move(connections), std::move(watches),
                                            std::move(leases), std::move(unconfirmed)});
  auto store = std::make_shared<etcd::store>(std::move(queues));
  store_traits traits{.queues = true, .across_processes = true, .across_hosts = true};
  traits.leaves_leases = true;
  return backend{store, nullptr, traits, std::move(display_name), warnings};
}

std::span<url_scheme const> v0::etcd_schemes() {
  static constexpr url_scheme schemes[] = {
      {"etcd", open_etcd, examine_etcd},
      {"etcds", open_etcd, examine_etcd},
  };
  return schemes;
}

}  // namespace herdlock
