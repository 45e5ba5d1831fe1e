#include "stores/postgres/modes.hpp"

#include <sys/random.h>

#include <cstdlib>
#include <utility>

#include "stores/common/connection_news.hpp"
#include "stores/common/name_hint.hpp"
#include "stores/common/shared_timer.hpp"
#include "stores/postgres/table_queue.hpp"

namespace herdlock::postgres {
namespace {

using stores::operation;
using stores::order;
using stores::pending_operations;

constexpr milliseconds between_sweeps{std::chrono::minutes{1}};

// Nobody can guess it, so nobody else listens.
std::string random_channel() {
  std::uint64_t bits[2];
  if (::getrandom(bits, sizeof bits, 0) != sizeof bits) std::abort();
  return "herdlock_" + std::to_string(bits[0]) + "_" + std::to_string(bits[1]);
}

class table_store final : public lease_store,
                          public subscription_listener,
                          public std::enable_shared_from_this<table_store> {
 public:
  table_store(settings what, std::shared_ptr<pending_operations> pending,
              std::shared_ptr<store_warnings> found)
      : what_(std::move(what)),
        pending_(std::move(pending)),
        commands_(std::make_shared<command_connection>(pending_->executor(), what_,
                                                       needed(std::move(found)))),
        queue_(std::make_shared<table_queue>(pending_->executor(), commands_, channel_)),
        news_(pending_->executor()),
        sweep_timer_(pending_->executor()) {}

  // Those who wait leave the queue before the connection ends.
  ~table_store() override {
    asio::post(pending_->executor(), [pending = pending_, commands = commands_, queue = queue_] {
      pending->close();
      commands->close();
    });
  }

  void listen() { commands_->set_listener(weak_from_this()); }

  void acquire(acquire_request request, handler<acquire_reply> done) override {
    order<acquire_reply> what{"acquire", request.name.str(), std::move(done)};
    queue_->forget_leave(request);
    if (request.wait > milliseconds{0}) return wait(std::move(request), std::move(what));
    auto const one =
        std::make_shared<acquisition>(pending_, std::move(what), clock::now() + what_.timeout);
    if (!one->admit()) return;
    if (busy_lately_[request.name.str()]) return look(one, request);
    grab(one, request);
  }

  void renew(resource name, owner_token owner, milliseconds ttl,
             handler<renew_reply> done) override {
    auto const one = pending_->begin("renew", name.str(), std::move(done));
    statement how{"renew", {as_bytes(name.str()), as_bytes(owner.str()), as_number(ttl.count())}};
    ask(*commands_, one, std::move(how), [](rows const& found) {
      return found.truth(0, 0) ? renew_reply::renewed : renew_reply::lost;
    });
  }

  void release(resource name, owner_token owner, handler<release_reply> done) override {
    auto const one = pending_->begin("release", name.str(), std::move(done));
    if (!one) return;
    statement how{"release", {as_bytes(name.str()), as_bytes(owner.str())}};
    auto on_answer = [commands = commands_, one, how](reply const& answered) {
      if (!answered) return one->fail(answered.error());
      if (answered->count() > 0) return one->complete(release_reply::released);
      commands->run({"leave", how.parameters}, [one](reply const& left) {
        if (left) return one->complete(released(*left));
        one->fail(left.error());
      });
    };
    commands_->run(how, std::move(on_answer));
  }

  void leave(leave_request request, handler<release_reply> done) override {
    auto const one = pending_->begin("leave", request.name.str(), std::move(done));
    statement how{"pass_on",
                  {as_bytes(request.name.str()), as_bytes(request.owner.str()),
                   as_bytes(request.left_to.str()), as_number(request.ttl.count())}};
    ask(*commands_, one, std::move(how), &table_store::released);
  }

  void inspect(resource name, handler<std::optional<lease_info>> done) override {
    auto const one = pending_->begin("inspect", name.str(), std::move(done));
    statement how{"inspect", {as_bytes(name.str())}};
    ask(*commands_, one, std::move(how), &table_store::info);
  }

  void force_release(resource name, handler<release_reply> done) override {
    auto const one = pending_->begin("force release of", name.str(), std::move(done));
    statement how{"force", {as_bytes(name.str())}};
    ask(*commands_, one, std::move(how), &table_store::released);
  }

  void list(list_request request, handler<lease_page> done) override {
    ask_page(*commands_, pending_->begin("list", "leases", std::move(done)), request);
  }

  void on_new_connection(std::function<void()> told) override { news_.listen(std::move(told)); }

  void on_up() override {
    sweep();
    is_up_ = true;
    news_.tell();
  }
  void on_notification(std::string const& payload) override { queue_->on_notification(payload); }
  void on_down(failure const& why) override {
    sweep_timer_.cancel();
    queue_->on_down(why);
    // It is opened again by the next command only: a renewal.
    if (std::exchange(is_up_, false)) news_.tell();
  }

 private:
  preparation needed(std::shared_ptr<store_warnings> found) const {
    return {schema_query(what_), schema_script(what_), table_statements(what_), channel_,
            std::move(found)};
  }

  using acquisition = operation<acquire_reply>;

  // As if it were free; if it is not, by a second question.
  void grab(std::shared_ptr<acquisition> const& one, acquire_request const& request) {
    auto const sent = clock::now();
    statement how{"grab",
                  {as_bytes(request.name.str()), as_bytes(request.owner.str()),
                   as_number(request.ttl.count())}};
    commands_->run(
        std::move(how), [weak = weak_from_this(), one, request, sent](reply const& answered) {
          if (!answered) return one->fail(answered.error());
          if (answered->count() > 0) {
            fencing_token const token{static_cast<std::uint64_t>(answered->number(0, 0))};
            return one->complete(acquire_reply(grant{token, grant_validity{sent, request.ttl}}));
          }
          // Whoever has gone has cleaned up behind the first question, not behind another.
          auto const self = weak.lock();
          if (self && !one->completed()) self->look(one, request);
        });
  }

  void look(std::shared_ptr<acquisition> const& one, acquire_request const& request) {
    auto const sent = clock::now();
    commands_->run(acquire_statement(request, asking::once, channel_, 0),
                   [weak = weak_from_this(), one, request, sent](reply const& answered) {
                     if (!answered) return one->fail(answered.error());
                     auto outcome = to_acquire_reply(to_lease_row(*answered), request, sent);
                     if (auto const self = weak.lock()) {
                       self->busy_lately_[request.name.str()] =
                           std::holds_alternative<busy>(outcome);
                     }
                     one->complete(std::move(outcome));
                   });
  }

  void wait(acquire_request request, order<acquire_reply> what) {
    auto const one =
        std::make_shared<waiter>(pending_, std::move(what), std::move(request), what_.timeout);
    if (one->admit()) queue_->enter(one);
  }

  static release_reply released(rows const& found) {
    return found.truth(0, 0) ? release_reply::released : release_reply::lost;
  }

  static std::optional<lease_info> info(rows const& found) {
    if (found.count() == 0) return std::nullopt;
    auto const row = to_lease_row(found);
    lease_info told{owner_label(row.holder), row.fencing, row.left,
                    static_cast<std::size_t>(found.number(0, 4))};
    std::string_view rest = found.text(0, 5);
    while (!rest.empty()) {
      auto const comma = std::min(rest.find(','), rest.size());
      told.waiters.push_back(owner_label(from_hex(rest.substr(0, comma))));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    told.held_for = milliseconds{std::max<std::int64_t>(found.number(0, 6), 0)};
    return told;
  }

  // In batches, at once again while there is more.
  void sweep() {
    commands_->run({"sweep"}, [weak = weak_from_this()](reply const& swept) {
      auto const self = weak.lock();
      if (!self || !self->commands_->ready()) return;
      if (swept && swept->number(0, 0) >= 256) return self->sweep();
      self->sweep_later();
    });
  }

  void sweep_later() {
    stores::run_after(sweep_timer_, between_sweeps, weak_from_this(), [](table_store& self) {
      if (self.commands_->ready()) self.sweep();
    });
  }

  settings what_;
  std::shared_ptr<pending_operations> pending_;
  std::string const channel_ = random_channel();
  std::shared_ptr<command_connection> commands_;
  std::shared_ptr<table_queue> queue_;
  stores::connection_news news_;
  bool is_up_ = false;
  asio::basic_waitable_timer<clock> sweep_timer_;
  stores::name_hint<256> busy_lately_;  // a wrong guess costs a round trip
};

}  // namespace

std::shared_ptr<lease_store> make_table_store(settings what,
                                              std::shared_ptr<pending_operations> pending,
                                              std::shared_ptr<store_warnings> found) {
  auto store = std::make_shared<table_store>(std::move(what), std::move(pending), std::move(found));
  store->listen();
  return store;
}

}  // namespace herdlock::postgres
