#include "stores/redis/redlock/redlock_ops.hpp"

#include <algorithm>
#include <optional>

#include "stores/redis/client/operation.hpp"
#include "stores/redis/redlock/redlock_caller.hpp"

namespace herdlock::redis {
namespace {

using algo::quorum_action;

class acquire_op final : public redlock_caller<acquire_reply> {
 public:
  acquire_op(std::shared_ptr<redlock_core> core, acquire_request request,
             handler<acquire_reply> done)
      : redlock_caller(std::move(core),
                       {std::move(request.name), request.owner.str(), request.ttl, 0, 0},
                       node_verb::acquire, std::move(done)) {}

  void begin() override {
    if (!waiting()) return;
    sent_ = clock::now();
    what_.attempt = core_->next_attempt();
    machine_.emplace(core_->size(), sent_, what_.ttl);
    core_->watch(*this, core_->patience(what_.ttl));
    ask_all(node_verb::acquire);
  }

  void give_up() override {
    auto const open = machine_->unanswered();
    for (std::size_t i = 0; i < core_->size(); ++i) {
      if (open[i]) blame(i);
    }
    act(machine_->give_up(clock::now()));
    conclude();
  }

  void cancel(failure const& why) override {
    if (!waiting()) return;
    auto const what = machine_ ? machine_->cancel() : quorum_action{};
    refused_ = machine_.has_value();  // what is still on its way must be given back, too
    give_back(what.release);
    complete(core_->store_failure(errc::canceled, what_, verb_, why.message));
  }

  void on_answer(node_verb verb, std::size_t node, reply const& answer) override {
    if (verb == node_verb::raise) {
      on_raised(node, answer);
    } else {
      on_vote(node, answer);
    }
    conclude();
  }

  void on_failed(node_verb verb, std::size_t node, failure const& why,
                 late_grants grants) override {
    bool const unknown = grants == late_grants::possible;
    if (unknown) lost_.set(node);
    if (verb == node_verb::raise) {
      note_failure(why);
      act(machine_->not_raised(node, clock::now()));
      return conclude();
    }
    // B7: what was given back there meanwhile may have come before it.
    if (unknown && refused_ && !core_->closed()) {
      core_->node(node).give_back(node_verb::undo, what_, late_grants::possible);
    }
    no_answer(node, why);
  }

 private:
  void on_vote(std::size_t node, reply const& answer) {
    answered_.set(node);
    auto const now = clock::now();
    if (answer.kind() != reply_kind::list) {
      return on_grant(node, answer.number(), what_.ttl, now);
    }
    auto const pttl = answer.number(1);
    if (!pttl) return no_answer(node, unexpected_reply(what_.name.str()));
    milliseconds const left{std::max<std::int64_t>(*pttl, 0)};
    if (answer.text(2) == what_.owner) return on_grant(node, answer.number(3), left, now);
    if (holder_.empty()) holder_ = owner_label(answer.text(2));
    if (left.count() > 0) remaining_ = std::min(remaining_.value_or(left), left);
    act(machine_->busy(node, now));
  }

  void no_answer(std::size_t node, failure const& why) override {
    note_failure(why);
    act(machine_->failed(node, clock::now()));
    conclude();
  }

  void on_grant(std::size_t node, std::optional<std::int64_t> counter, milliseconds left,
                clock::time_point now) {
    if (!counter || *counter <= 0) return no_answer(node, unexpected_reply(what_.name.str()));
    auto const value = static_cast<std::uint64_t>(*counter);
    core_->heard_counter(value);
    act(machine_->granted(node, {value, left}, now));
  }

  void on_raised(std::size_t node, reply const& answer) {
    auto const counter = answer.number().value_or(0);
    if (counter <= 0) return act(machine_->not_raised(node, clock::now()));
    act(machine_->raised(node, static_cast<std::uint64_t>(counter), clock::now()));
  }

  void act(quorum_action what) {
    // Commands are written a little later, with what the request says then: it only rises.
    if (what.raise.any()) what_.token = std::max(what_.token, machine_->token().value);
    for (std::size_t i = 0; what.raise.any() && i < core_->size(); ++i) {
      if (what.raise[i]) raise(i);
    }
    give_back(what.release);
    if (what.decided == quorum_action::verdict::granted) {
      return complete(
          acquire_reply(grant{machine_->token(), grant_validity{sent_, machine_->left()}}));
    }
    if (what.decided == quorum_action::verdict::refused) refused_ = true;
  }

  // A no that comes of others' votes is told at once. One that comes of nodes that fail waits for
  // the others' answers, to tell how many there were.
  void conclude() {
    if (!refused_ || !waiting()) return;
    auto const open = machine_->unanswered().count();
    bool const majority = answered_.count() + open >= algo::majority_of(core_->size());
    if (open == 0 || (majority && !holder_.empty())) complete(refusal());
  }

  void raise(std::size_t node) {
    if (auto const* why = core_->node(node).refusal(node_verb::raise)) {
      note_failure(*why);
      return act(machine_->not_raised(node, clock::now()));
    }
    core_->node(node).send(node_verb::raise, shared());
  }

  void give_back(algo::node_set where) {
    if (core_->closed()) return;
    for (std::size_t i = 0; where.any() && i < core_->size(); ++i) {
      if (!where[i] || !asked_[i]) continue;
      core_->node(i).give_back(node_verb::undo, what_,
                               lost_[i] ? late_grants::possible : late_grants::none);
    }
  }

  result<acquire_reply> refusal() const {
    auto const count = answered_.count();
    if (count + machine_->unanswered().count() < algo::majority_of(core_->size())) {
      return no_majority(count);
    }
    if (!holder_.empty()) {
      return acquire_reply(busy{holder_, remaining_.value_or(milliseconds{0})});
    }
    return core_->store_failure(errc::timed_out, what_, verb_,
                                "the nodes granted it too late for the ttl of " + in_ms(what_.ttl) +
                                    ", or let it go again; ask for more");
  }

  std::optional<algo::quorum_grant> machine_;
  clock::time_point sent_;
  algo::node_set answered_;
  algo::node_set lost_;  // asked, and it may still be on its way
  bool refused_ = false;
  std::string holder_;
  std::optional<milliseconds> remaining_;
};

}  // namespace

void redlock_acquire(std::shared_ptr<redlock_core> const& core, acquire_request request,
                     handler<acquire_reply> done) {
  redlock_caller<acquire_reply>::launch<acquire_op>(core, std::move(request), std::move(done));
}

}  // namespace herdlock::redis
