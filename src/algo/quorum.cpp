#include "algo/quorum.hpp"

#include <algorithm>

#include "algo/lease_machine.hpp"

namespace herdlock::algo {

quorum_grant::quorum_grant(std::size_t nodes, clock::time_point sent, milliseconds ttl)
    : count_(nodes), majority_(majority_of(nodes)), sent_(sent), ttl_(ttl) {}

node_set quorum_grant::all() const {
  node_set set;
  for (std::size_t i = 0; i < count_; ++i) set.set(i);
  return set;
}

node_set quorum_grant::ours() const {
  node_set set;
  for (std::size_t i = 0; i < count_; ++i) set.set(i, nodes_[i].said == answer::ours);
  return set;
}

node_set quorum_grant::unanswered() const {
  node_set set;
  for (std::size_t i = 0; i < count_; ++i) set.set(i, nodes_[i].said == answer::none);
  return set;
}

quorum_action quorum_grant::granted(std::size_t at, node_grant what, clock::time_point now) {
  node& one = nodes_[at];
  bool const first = one.said == answer::none || one.said == answer::failed;
  if (first) {
    one.said = answer::ours;
    one.counter = what.counter;
    one.left = std::min(what.left, ttl_);
  }
  // B7: a yes that comes after the no was told must not stay.
  if (state_ == state::refused) return {{}, {}, node_set{}.set(at)};
  if (state_ == state::granted) {
    // Not needed, but counters that agree make the next acquisition one round trip.
    return {{}, first && what.counter < token_ ? node_set{}.set(at) : node_set{}, {}};
  }
  return decide(now);
}

quorum_action quorum_grant::busy(std::size_t at, clock::time_point now) {
  node& one = nodes_[at];
  if (one.said == answer::none || one.said == answer::failed) one.said = answer::others;
  return decide(now);
}

quorum_action quorum_grant::failed(std::size_t at, clock::time_point now) {
  if (nodes_[at].said == answer::none) nodes_[at].said = answer::failed;
  return decide(now);
}

quorum_action quorum_grant::raised(std::size_t at, std::uint64_t counter, clock::time_point now) {
  node& one = nodes_[at];
  one.counter = std::max(one.counter, counter);
  if (one.counter >= one.wanted && one.raise == raising::asked) one.raise = raising::idle;
  return decide(now);
}

// A node that says "not yours" has let our lease go, so its vote is gone; one that says nothing
// may have. Neither can prove a token any more.
quorum_action quorum_grant::not_raised(std::size_t at, clock::time_point now) {
  nodes_[at].raise = raising::failed;
  nodes_[at].said = answer::others;
  return decide(now);
}

quorum_action quorum_grant::give_up(clock::time_point now) {
  for (std::size_t i = 0; i < count_; ++i) {
    node& one = nodes_[i];
    if (one.said == answer::none) one.said = answer::failed;
    if (one.raise == raising::asked) one.raise = raising::failed;
  }
  return decide(now);
}

quorum_action quorum_grant::cancel() {
  if (state_ != state::asking) return {};
  return refuse();
}

// Everywhere: what did not answer, or said no to an earlier request, may be ours by now.
quorum_action quorum_grant::refuse() {
  state_ = state::refused;
  return {quorum_action::verdict::refused, {}, all()};
}

// The smallest token that fulfils (1), and the longest time for which a majority is ours. A vote
// that ends sooner than that does not count at all: the order of two holders' tokens rests on
// each vote being there when the token is handed out.
void quorum_grant::choose(node_set among) {
  std::array<milliseconds, max_quorum_nodes> left{};
  std::size_t n = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (among[i]) left[n++] = nodes_[i].left;
  }
  std::sort(left.begin(), left.begin() + n, std::greater<>());
  left_ = left[majority_ - 1];
  std::array<std::uint64_t, max_quorum_nodes> counters{};
  n = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (among[i] && nodes_[i].left >= left_) counters[n++] = nodes_[i].counter;
  }
  std::nth_element(counters.begin(), counters.begin() + (majority_ - 1), counters.begin() + n);
  token_ = counters[majority_ - 1];
}

// Marks what is to be raised and was not asked for that already.
node_set quorum_grant::lagging() {
  node_set set;
  for (std::size_t i = 0; i < count_; ++i) {
    node& one = nodes_[i];
    bool const lags = one.said == answer::ours && one.counter < token_;
    if (!lags || one.raise == raising::failed) continue;
    if (one.raise == raising::asked && one.wanted >= token_) continue;
    one.raise = raising::asked;
    one.wanted = token_;
    set.set(i);
  }
  return set;
}

// A token that a wrong clock gave stays with the nodes that are raised to it.
bool quorum_grant::others_may_settle_it() const {
  if (unanswered().none()) return false;
  return std::any_of(nodes_.begin(), nodes_.begin() + count_, [this](node const& one) {
    return one.said == answer::ours && one.counter + far_ahead < token_;
  });
}

quorum_action quorum_grant::decide(clock::time_point now) {
  if (state_ != state::asking) return {};
  auto const mine = ours();
  if ((mine | unanswered()).count() < majority_) return refuse();
  if (mine.count() < majority_) return {};
  choose(mine);
  if (now >= proved_until(sent_, left_)) return refuse();
  std::size_t proved = 0;
  std::size_t possible = unanswered().count();
  for (std::size_t i = 0; i < count_; ++i) {
    node const& one = nodes_[i];
    if (!mine[i] || one.left < left_) continue;
    if (one.counter >= token_) ++proved;
    if (one.counter >= token_ || one.raise != raising::failed) ++possible;
  }
  if (proved >= majority_) {
    state_ = state::granted;
    return {quorum_action::verdict::granted, {}, {}};
  }
  if (possible < majority_) return refuse();
  if (others_may_settle_it()) return {};
  return {{}, lagging(), {}};
}

quorum_tally::verdict quorum_tally::standing() const {
  auto const majority = majority_of(count_);
  if (yes_.count() >= majority) return verdict::yes;
  if (no_.count() > count_ - majority) return verdict::no;
  auto const open = count_ - (yes_ | no_ | failed_).count();
  bool const may_be_yes = yes_.count() + open >= majority;
  bool const may_be_no = no_.count() + open > count_ - majority;
  return may_be_yes || may_be_no ? verdict::none : verdict::undecided;
}

}  // namespace herdlock::algo
