// Several clients, five nodes and a network that delays, reorders and loses, all simulated from a
// seed: never two holders, tokens that rise, nothing left over.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <functional>
#include <vector>

#include "algo/lease_machine.hpp"
#include "algo/quorum.hpp"

namespace herdlock::algo {
namespace {

constexpr std::size_t node_count = 5;
constexpr std::size_t client_count = 3;
constexpr int ttl_ms = 40;
constexpr int restart_delay_ms = ttl_ms;

class splitmix {
 public:
  explicit splitmix(std::uint64_t seed) : state_(seed) {}
  std::size_t below(std::size_t n) {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<std::size_t>((z ^ (z >> 31)) % n);
  }

 private:
  std::uint64_t state_;
};

// What the scripts src/stores/redis/scripts/redlock_*.lua do.
struct model_node {
  int owner = 0;
  int expires = 0;
  std::uint64_t counter = 0;
  std::uint64_t attempt = 0;
  int votes_from = 0;

  void expire(int now) {
    if (owner != 0 && now >= expires) owner = 0;
  }
  void restart(int now) {
    *this = {};
    votes_from = now + restart_delay_ms;
  }
};

enum class ask { acquire, raise, undo, release };
struct message {
  ask what;
  std::size_t client;
  std::size_t node;
  int owner;
  std::uint64_t number;  // attempt or token
  std::uint64_t of;      // the attempt that it belongs to
};
struct answer {
  message to;
  bool yes = false;
  std::uint64_t counter = 0;
  int left = 0;
};

struct model_client {
  int owner = 0;
  std::uint64_t attempt = 0;
  std::optional<quorum_grant> machine;
  bool asking = false;
  int sent = 0;
  int valid_until = -1;
  std::uint64_t token = 0;
};

class world {
 public:
  explicit world(std::uint64_t seed, bool restarts) : random_(seed), restarts_(restarts) {}

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFatalFailure(); ++i) step();
    settle();
  }
  int grants() const { return grants_; }

 private:
  clock::time_point at(int ms) const { return clock::time_point{} + milliseconds(ms); }

  void step() {
    auto const c = random_.below(client_count);
    switch (random_.below(24)) {
      case 0:
        now_ += static_cast<int>(random_.below(6));
        break;
      case 1:
        now_ += random_.below(12) == 0 ? static_cast<int>(random_.below(60)) : 1;
        break;
      case 2:
      case 3:
        begin(c);
        break;
      case 4:
        if (random_.below(3) == 0) give_up(c);
        break;
      case 5:
        release(c);
        break;
      case 6:
        break_connection(c, random_.below(node_count));
        break;
      case 7:
        deliver_limbo();
        break;
      case 8:
        if (!answers_.empty() && random_.below(4) == 0) take(answers_, random_.below(99));
        break;
      case 9:
        if (restarts_ && random_.below(40) == 0) nodes_[random_.below(node_count)].restart(now_);
        break;
      default:
        if (random_.below(2) == 0) {
          deliver_request(c, random_.below(node_count));
        } else if (!answers_.empty()) {
          receive(take(answers_, random_.below(1000)));
        }
    }
  }

  template <class T>
  static T take(std::vector<T>& from, std::size_t i) {
    i %= from.size();
    T one = from[i];
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(i));
    return one;
  }

  bool holds(model_client const& one) const { return now_ < one.valid_until; }

  void begin(std::size_t c) {
    model_client& one = clients_[c];
    if (one.asking || holds(one)) return;
    if (one.valid_until > 0) release(c);  // it ran out: given back all the same
    // A refused attempt is repeated by the same owner, as the runtime does.
    if (one.owner == 0 || one.valid_until >= 0) one.owner = ++owners_;
    one.valid_until = -1;
    // Clients' ideas of the time differ; only their own numbers rise.
    one.attempt =
        std::max(one.attempt + 1, static_cast<std::uint64_t>(now_) * 8 + random_.below(9));
    one.sent = now_;
    one.machine.emplace(node_count, at(now_), milliseconds(ttl_ms));
    one.asking = true;
    for (std::size_t n = 0; n < node_count; ++n)
      post({ask::acquire, c, n, one.owner, one.attempt, one.attempt});
  }

  void post(message const& what) { links_[what.client][what.node].push_back(what); }

  // What was on its way may still arrive at any time, or not.
  void break_connection(std::size_t c, std::size_t n) {
    for (auto const& one : links_[c][n]) limbo_.push_back(one);
    links_[c][n].clear();
  }
  void deliver_limbo() {
    if (!limbo_.empty()) execute(take(limbo_, random_.below(1000)));
  }
  void deliver_request(std::size_t c, std::size_t n) {
    auto& queue = links_[c][n];
    if (queue.empty()) return;
    auto const one = queue.front();
    queue.pop_front();
    execute(one);
  }

  void execute(message const& what) {
    model_node& node = nodes_[what.node];
    node.expire(now_);
    answer out{what};
    bool const ours = node.owner == what.owner;
    switch (what.what) {
      case ask::acquire:
        // The client looks at the node's uptime: it does not ask, or does not count.
        if (now_ < node.votes_from) break;
        if (node.owner == 0) {
          if (node.counter == 0) node.counter = static_cast<std::uint64_t>(now_) * 8 + 8;
          node.counter = std::max(node.counter + 1, what.number);
          node.attempt = what.number;
          node.owner = what.owner;
          node.expires = now_ + ttl_ms;
        } else if (ours) {
          node.attempt = std::max(node.attempt, what.number);
        }
        out.yes = node.owner == what.owner;
        out.counter = node.counter;
        out.left = node.expires - now_;
        break;
      case ask::raise:
        if (ours) node.counter = std::max(node.counter, what.number);
        out.yes = ours;
        out.counter = node.counter;
        break;
      case ask::undo:
        if (ours && node.attempt <= what.number) node.owner = 0;
        break;
      case ask::release:
        if (ours) node.owner = 0;
        break;
    }
    answers_.push_back(out);
  }

  void receive(answer const& what) {
    auto const c = what.to.client;
    model_client& one = clients_[c];
    bool const current = one.machine && what.to.of == one.attempt;
    if (!current) return;
    if (what.to.what == ask::acquire) {
      act(c, what.yes ? one.machine->granted(what.to.node, {what.counter, milliseconds(what.left)},
                                             at(now_))
                      : one.machine->busy(what.to.node, at(now_)));
    }
    if (what.to.what == ask::raise) {
      act(c, what.yes ? one.machine->raised(what.to.node, what.counter, at(now_))
                      : one.machine->not_raised(what.to.node, at(now_)));
    }
  }

  void give_up(std::size_t c) {
    if (clients_[c].asking) act(c, clients_[c].machine->give_up(at(now_)));
  }

  void act(std::size_t c, quorum_action what) {
    model_client& one = clients_[c];
    for (std::size_t n = 0; n < node_count; ++n) {
      auto const token = one.machine->token().value;
      if (what.raise[n]) post({ask::raise, c, n, one.owner, token, one.attempt});
      if (what.release[n]) give_back({ask::undo, c, n, one.owner, one.attempt, one.attempt});
    }
    if (what.decided == quorum_action::verdict::none) return;
    ASSERT_TRUE(one.asking) << "decided twice";
    one.asking = false;
    if (what.decided == quorum_action::verdict::granted) hand_out(c);
  }

  void hand_out(std::size_t c) {
    model_client& one = clients_[c];
    ++grants_;
    for (auto const& other : clients_) ASSERT_FALSE(holds(other)) << "two holders";
    ASSERT_GT(one.machine->token().value, last_token_) << "a token that does not rise";
    last_token_ = one.machine->token().value;
    one.token = last_token_;
    auto const end = proved_until(at(one.sent), one.machine->left());
    one.valid_until =
        static_cast<int>(std::chrono::duration_cast<milliseconds>(end.time_since_epoch()).count());
  }

  void release(std::size_t c) {
    model_client& one = clients_[c];
    if (one.valid_until < 0) return;
    one.valid_until = 0;
    for (std::size_t n = 0; n < node_count; ++n) {
      give_back({ask::release, c, n, one.owner, 0, one.attempt});
    }
  }

  void give_back(message const& what) {
    post(what);
    owed_.push_back(what);  // and again until nothing can be on its way any more
  }

  // Everything arrives, in any order; what is owed is asked for again then.
  void settle() {
    for (std::size_t c = 0; c < client_count; ++c) {
      give_up(c);
      release(c);
      for (std::size_t n = 0; n < node_count; ++n) break_connection(c, n);
    }
    while (!limbo_.empty()) deliver_limbo();
    while (!answers_.empty()) receive(take(answers_, random_.below(1000)));
    for (auto const& one : owed_) execute(one);
    for (auto& node : nodes_) ASSERT_EQ(node.owner, 0) << "a ghost";
  }

  splitmix random_;
  bool restarts_;
  int now_ = 1000;
  int owners_ = 0;
  int grants_ = 0;
  std::uint64_t last_token_ = 0;
  std::array<model_node, node_count> nodes_{};
  std::array<model_client, client_count> clients_{};
  std::array<std::array<std::deque<message>, node_count>, client_count> links_{};
  std::vector<message> limbo_;
  std::vector<message> owed_;
  std::vector<answer> answers_;
};

RC_GTEST_PROP(QuorumModel, NeverTwoHoldersAndRisingTokensAndNoGhosts, (std::uint64_t seed)) {
  world one(seed, false);
  one.run(1500);
  RC_ASSERT(!::testing::Test::HasFatalFailure());
}

// Nodes that come back empty and wait one ttl before they vote.
RC_GTEST_PROP(QuorumModel, NeverTwoHoldersWithNodesRestartedEmpty, (std::uint64_t seed)) {
  world one(seed, true);
  one.run(1500);
  RC_ASSERT(!::testing::Test::HasFatalFailure());
}

TEST(QuorumModelItself, GrantsOftenEnoughToShowSomething) {
  int grants = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    world one(seed, seed % 2 == 0);
    one.run(1500);
    grants += one.grants();
  }
  EXPECT_GT(grants, 5000);
}

}  // namespace
}  // namespace herdlock::algo
