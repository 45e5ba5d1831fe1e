#include "stores/redis/redlock/redlock_ops.hpp"

#include <algorithm>
#include <optional>

#include "stores/redis/client/operation.hpp"
#include "stores/redis/lease_list.hpp"
#include "stores/redis/redlock/redlock_caller.hpp"

namespace herdlock::redis {
namespace {

using verdict = algo::quorum_tally::verdict;

// Questions that each node answers with yes or no.
template <class T, node_verb Verb>
class tally_op : public redlock_caller<T> {
 public:
  tally_op(std::shared_ptr<redlock_core> core, lease_request what, handler<T> done)
      : redlock_caller<T>(std::move(core), std::move(what), Verb, std::move(done)) {}

  void begin() override {
    if (!this->waiting()) return;
    tally_.emplace(this->core_->size());
    this->core_->watch(*this, this->core_->patience(milliseconds(this->what_.ttl)));
    this->ask_all(this->verb_);
  }
  void give_up() override {
    for (std::size_t i = 0; i < this->core_->size(); ++i) {
      if (!tally_->has(i)) this->blame(i);
      tally_->failed(i);
    }
    conclude();
  }
  void cancel(failure const& why) override {
    if (!this->waiting()) return;
    this->complete(
        this->core_->store_failure(errc::canceled, this->what_, this->verb_, why.message));
  }
  void on_answer(node_verb verb, std::size_t node, reply const& answer) override {
    auto const said = answer.number();
    if (!said) return not_understood(verb, node);
    if (*said != 0) {
      tally_->yes(node);
    } else {
      tally_->no(node);
    }
    conclude();
  }
  void on_failed(node_verb, std::size_t node, failure const& why, late_grants) override {
    no_answer(node, why);
  }

 protected:
  void not_understood(node_verb verb, std::size_t node) {
    this->on_failed(verb, node, unexpected_reply(this->what_.name.str()), late_grants::possible);
  }
  void no_answer(std::size_t node, failure const& why) override {
    this->note_failure(why);
    tally_->failed(node);
    conclude();
  }
  void conclude() {
    if (!this->waiting()) return;
    if (auto outcome = outcome_now()) this->complete(std::move(*outcome));
  }
  virtual std::optional<result<T>> outcome_now() const = 0;
  /// Where a majority says the same.
  std::optional<result<T>> outcome_of_majority(T yes, T no) const {
    auto const said = tally_->standing();
    if (said == verdict::none) return std::optional<result<T>>();
    if (said == verdict::undecided) return this->no_majority(tally_->answered());
    return said == verdict::yes ? yes : no;
  }

  std::optional<algo::quorum_tally> tally_;
};

class renew_op final : public tally_op<renew_reply, node_verb::renew> {
 public:
  using tally_op::tally_op;

 private:
  // Without a majority in either way it is not lost yet: nodes that did not answer may have it.
  std::optional<result<renew_reply>> outcome_now() const override {
    return outcome_of_majority(renew_reply::renewed, renew_reply::lost);
  }
};

class release_op final : public tally_op<release_reply, node_verb::release> {
 public:
  using tally_op::tally_op;

  void on_failed(node_verb verb, std::size_t node, failure const& why,
                 late_grants grants) override {
    bool const unknown = grants == late_grants::possible;
    if (unknown || why == errc::unavailable) give_back_later(node, grants);
    tally_op::on_failed(verb, node, why, grants);
  }

 private:
  void no_answer(std::size_t node, failure const& why) override {
    if (!asked_[node]) give_back_later(node, late_grants::none);
    tally_op::no_answer(node, why);
  }
  // Known to have been ours before: an answer is enough.
  void give_back_later(std::size_t node, late_grants grants) {
    if (!core_->closed()) core_->node(node).give_back(node_verb::release, what_, grants);
  }

  // Where a majority answers and those that do not could have made one with the yes, it was ours.
  std::optional<result<release_reply>> outcome_now() const override {
    bool const perhaps = tally_->standing() == verdict::undecided && tally_->has_majority();
    if (perhaps) return release_reply::released;
    return outcome_of_majority(release_reply::released, release_reply::lost);
  }
};

class force_release_op final : public tally_op<release_reply, node_verb::force_release> {
 public:
  using tally_op::tally_op;

 private:
  // A minority's leftovers are worth telling of, too.
  std::optional<result<release_reply>> outcome_now() const override {
    if (tally_->standing() == verdict::yes) return release_reply::released;
    if (!tally_->settled()) return {};
    if (!tally_->has_majority()) return no_majority(tally_->answered());
    return tally_->yes_count() > 0 ? release_reply::released : release_reply::lost;
  }
};

class inspect_op final : public tally_op<std::optional<lease_info>, node_verb::inspect> {
 public:
  using tally_op::tally_op;

  void on_answer(node_verb verb, std::size_t node, reply const& answer) override {
    if (answer.kind() == reply_kind::null) {
      tally_->no(node);
      return conclude();
    }
    auto const pttl = answer.number(1);
    auto const counter = answer.number(3);
    if (!pttl || !counter || answer.nodes() != 4) return not_understood(verb, node);
    seen_.push_back({std::string(answer.text(2)), milliseconds(std::max<std::int64_t>(*pttl, 0)),
                     static_cast<std::uint64_t>(*counter)});
    tally_->yes(node);
    conclude();
  }

 private:
  struct sight {
    std::string holder;
    milliseconds left;
    std::uint64_t counter;
  };

  std::vector<sight> of_most_frequent() const {
    std::vector<sight> best;
    for (auto const& one : seen_) {
      std::vector<sight> same;
      std::ranges::copy_if(seen_, std::back_inserter(same),
                           [&](sight const& other) { return other.holder == one.holder; });
      if (same.size() > best.size()) best = std::move(same);
    }
    return best;
  }

  // Its lease ends where the majority ends: at the first of the nodes that make one.
  static lease_info told(std::vector<sight> of, std::size_t majority) {
    std::ranges::sort(of, std::ranges::greater(), &sight::left);
    auto const left = of[majority - 1].left;
    std::ranges::sort(of, std::ranges::less(), &sight::counter);
    return {owner_label(of.front().holder), {of[majority - 1].counter}, left};
  }

  std::optional<result<std::optional<lease_info>>> outcome_now() const override {
    auto const majority = algo::majority_of(core_->size());
    auto best = of_most_frequent();
    // A node that was asked late may have begun with a later time than the token: all of them tell.
    bool const agreed = std::ranges::adjacent_find(best, std::ranges::not_equal_to(),
                                                   &sight::counter) == best.end();
    if (best.size() >= majority && (agreed || tally_->settled())) {
      return std::optional<lease_info>(told(std::move(best), majority));
    }
    auto const open = core_->size() - tally_->answered() - tally_->failed_count();
    if (best.size() + open >= majority) return {};
    if (tally_->has_majority()) return std::optional<lease_info>();
    if (!tally_->settled()) return {};
    return no_majority(tally_->answered());
  }

  std::vector<sight> seen_;
};

class redlock_port final : public lease_store {
 public:
  explicit redlock_port(std::shared_ptr<redlock_core> core)
      : core_(std::move(core)), list_(core_->executor(), listed(core_)) {}
  // From whatever thread: the closing itself happens on the executor.
  ~redlock_port() override {
    asio::dispatch(core_->executor(), [core = core_] { core->close(); });
  }

  void acquire(acquire_request request, handler<acquire_reply> done) override {
    if (auto const bad = refused_ttl(request.name, request.ttl); bad.code) {
      return detail::post_result<acquire_reply>(core_->executor(), std::move(done), bad);
    }
    redlock_acquire(core_, std::move(request), std::move(done));
  }
  void renew(resource name, owner_token owner, milliseconds ttl,
             handler<renew_reply> done) override {
    if (auto const bad = refused_ttl(name, ttl); bad.code) {
      return detail::post_result<renew_reply>(core_->executor(), std::move(done), bad);
    }
    start<renew_op>({std::move(name), owner.str(), ttl}, std::move(done));
  }
  void release(resource name, owner_token owner, handler<release_reply> done) override {
    start<release_op>({std::move(name), owner.str(), limits::max_ttl}, std::move(done));
  }
  void inspect(resource name, handler<std::optional<lease_info>> done) override {
    start<inspect_op>({std::move(name), {}, limits::max_ttl}, std::move(done));
  }
  void force_release(resource name, handler<release_reply> done) override {
    start<force_release_op>({std::move(name), {}, limits::max_ttl}, std::move(done));
  }
  void list(list_request request, handler<lease_page> done) override {
    list_.part(std::move(request), std::move(done));
  }
  void on_new_connection(std::function<void()> told) override {
    core_->news().listen(std::move(told));
  }

 private:
  // What a majority has is at one of so many nodes at least that the others are no majority.
  static lease_source listed(std::shared_ptr<redlock_core> const& core) {
    lease_source from{core->how().display_name, core->how().timeout};
    from.inspected = true;
    from.servers = [core] {
      auto const enough = core->size() + 1 - algo::majority_of(core->size());
      std::vector<std::shared_ptr<connection>> some;
      for (std::size_t i = 0; i < core->size() && some.size() < enough; ++i) {
        auto& node = core->node(i);
        if (!node.refusal(node_verb::inspect)) some.push_back(node.shared_wire());
      }
      if (some.size() < enough) some.clear();
      return some;
    };
    from.inspect = [core](resource name, handler<std::optional<lease_info>> done) {
      redlock_caller<std::optional<lease_info>>::launch<inspect_op>(
          core, lease_request{std::move(name), {}, limits::max_ttl}, std::move(done));
    };
    return from;
  }

  template <class Op, class T>
  void start(lease_request what, handler<T> done) {
    redlock_caller<T>::template launch<Op>(core_, std::move(what), std::move(done));
  }

  // A lease that outlives the restart_delay could be granted a second time by nodes that were
  // restarted empty.
  failure refused_ttl(resource const& name, milliseconds ttl) const {
    auto const delay = core_->how().restart_delay;
    if (delay.count() == 0 || ttl <= delay) return {};
    return make_failure(
        errc::invalid_ttl,
        "the ttl of " + in_ms(ttl) + " for " + in_quotes(name.str()) + " at " +
            core_->how().display_name + " is longer than the restart_delay of " + in_ms(delay) +
            ", for which restarted nodes grant nothing; raise that option for all clients");
  }

  std::shared_ptr<redlock_core> core_;
  lease_list list_;
};

}  // namespace

std::shared_ptr<lease_store> make_redlock_port(std::shared_ptr<redlock_core> core) {
  return std::make_shared<redlock_port>(std::move(core));
}

}  // namespace herdlock::redis
