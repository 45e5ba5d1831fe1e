#include "stores/redis/redlock/redlock_core.hpp"

#include <algorithm>

namespace herdlock::redis {
namespace {

// The attempts' numbers are this far ahead of the servers' clocks, so that nodes without a counter
// all take the attempt's number instead of times that differ by microseconds.
constexpr std::int64_t ahead_of_servers = 10'000;

std::int64_t local_micros() {
  auto const now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

}  // namespace

void redlock_op::ask_all(node_verb verb) {
  // All are written to before any is waited for.
  for (std::size_t i = 0; i < core_->size(); ++i) {
    redlock_node& node = core_->node(i);
    if (node.refusal(verb)) continue;
    asked_.set(i);
    node.send(verb, shared());
  }
  for (std::size_t i = 0; i < core_->size(); ++i) {
    if (asked_[i]) continue;
    auto const* const why = core_->node(i).refusal(verb);
    no_answer(i, why ? *why : failure{});
  }
}

redlock_core::redlock_core(asio::any_io_executor executor, redlock_settings how,
                           std::shared_ptr<store_warnings> const& warnings)
    : executor_(std::move(executor)),
      how_(std::move(how)),
      gate_timer_(executor_),
      timers_(std::make_shared<steady_shared_timer>(executor_)),
      news_(executor_),
      warnings_(warnings),
      clocks_(how_.nodes.size()),
      run_ids_(how_.nodes.size()) {
  for (std::size_t i = 0; i < how_.nodes.size(); ++i) {
    nodes_.push_back(std::make_shared<redlock_node>(executor_, how_.nodes[i], i, warnings));
  }
}

void redlock_core::open() {
  if (closed_) return;
  gate_until_ = std::chrono::steady_clock::now() + how_.timeout;
  wait_for_nodes(how_.node_timeout);
  for (auto const& one : nodes_) one->open(weak_from_this(), how_.restart_delay);
}

void redlock_core::close() {
  if (std::exchange(closed_, true)) return;
  gate_timer_.cancel();
  auto const why =
      make_failure(errc::canceled, how_.display_name + ": the store handle is being closed");
  for (auto const& one : std::exchange(at_gate_, {})) one->cancel(why);
  while (auto* const first = timers_->first()) {
    auto const one = static_cast<redlock_op::timeout*>(first)->op.shared();
    timers_->remove(*first);
    one->cancel(why);
  }
  timers_->close();
  for (auto const& one : nodes_) one->close();
}

// ---------------------------------------------------------------------------------- the start

std::size_t redlock_core::ready_count() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(nodes_, [](auto const& one) { return one->ready(); }));
}

// The first operations wait until every node is either there or known to be down, but no longer
// than one waits for a node if a majority is there.
void redlock_core::on_node_known() {
  if (std::ranges::all_of(nodes_, [](auto const& one) { return one->known(); })) open_gate();
}

void redlock_core::wait_for_nodes(milliseconds pause) {
  run_after(gate_timer_, pause, weak_from_this(), [pause](redlock_core& self) {
    if (self.gate_open_ || self.closed_) return;
    bool const enough = self.ready_count() >= algo::majority_of(self.size());
    if (enough || std::chrono::steady_clock::now() >= self.gate_until_) return self.open_gate();
    self.wait_for_nodes(std::min(pause, milliseconds{20}));
  });
}

void redlock_core::open_gate() {
  if (std::exchange(gate_open_, true) || closed_) return;
  gate_timer_.cancel();
  for (auto const& one : std::exchange(at_gate_, {})) one->begin();
}

void redlock_core::start(std::shared_ptr<redlock_op> const& op) {
  if (gate_open_) return op->begin();
  // Nobody can be served yet, and so many need not wait for it.
  if (at_gate_.size() >= max_at_gate) open_gate();
  if (gate_open_) return op->begin();
  at_gate_.push_back(op);
}

// ---------------------------------------------------------------------------------- the timer

milliseconds redlock_core::patience(milliseconds ttl) const {
  return std::max(std::min(how_.node_timeout, ttl / 4), milliseconds{1});
}

void redlock_core::watch(redlock_op& op, milliseconds limit) {
  op.limit = limit;
  timers_->add(op.late, std::chrono::steady_clock::now() + limit);
}

void redlock_op::on_timeout(timeout::time_point now) {
  auto const self = shared();
  // Far too late: this process stood still, and the answers may lie unread in its sockets.
  bool const stalled = now - late.due() > limit / 2 && !stalled_once_;
  if (stalled) {
    stalled_once_ = true;
  } else {
    give_up();
  }
  // It has more to ask, and at the next give_up() no more.
  if (waiting()) core_->watch(*this, limit);
}

// Two names of one server have two votes, and are no majority of servers.
void redlock_core::on_node_server(std::size_t node, std::string const& run_id) {
  run_ids_[node] = run_id;
  for (std::size_t i = 0; i < size() && warnings_ && !run_id.empty(); ++i) {
    if (i == node || run_ids_[i] != run_id) continue;
    auto const first = std::min(i, node), second = std::max(i, node);
    warnings_->add(how_.display_name + ": " + nodes_[first]->display_name() + " and " +
                   nodes_[second]->display_name() +
                   " are one server: a majority of names is not a majority of servers, and two "
                   "clients can hold at once; name each independent server once");
  }
}

// ---------------------------------------------------------------------------------- attempts

// A token that came of a clock that is years ahead would outlive the counters: the next ones, of
// right clocks again, would be smaller.
void redlock_core::on_node_time(std::size_t node, std::int64_t server_time) {
  clocks_.heard(node, server_time - local_micros());
  auto const wrong = clocks_.disbelieved();
  for (std::size_t i = 0; i < size() && warnings_; ++i) {
    if (!wrong[i]) continue;
    warnings_->add(how_.display_name + ": the clock of the node at " + nodes_[i]->display_name() +
                   " is more than an hour ahead of the other nodes' clocks, so it is not followed "
                   "for fencing tokens; set it right");
  }
}

std::int64_t redlock_core::next_attempt() {
  last_attempt_ = std::max(last_attempt_ + 1, local_micros() + clocks_.ahead() + ahead_of_servers);
  return last_attempt_;
}

void redlock_core::heard_counter(std::uint64_t counter) {
  auto const value = static_cast<std::int64_t>(counter);
  // Or it would spread to all other resources.
  if (value < local_micros() + clocks_.ahead() + algo::far_ahead) {
    last_attempt_ = std::max(last_attempt_, value);
  }
}

failure redlock_core::store_failure(errc code, lease_request const& what, node_verb verb,
                                    std::string const& why) const {
  return cannot(verb_text(verb), what.name.str(),
                make_failure(code, how_.display_name + ": " + why));
}

}  // namespace herdlock::redis
