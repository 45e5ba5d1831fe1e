// The machine of the near cache among servers that push, wires that delay and break, and others who
// write; all from a seed. What was read from a wire is handled in any order, but for pushes.
//
// - A value is never older than what was acknowledged before a fence that has passed.
// - Nor than a write of our own that was answered; and while one is under way nothing is served.
// - A value that is out of date is served for less than max_staleness.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "near_model.hpp"
#include "near_table.hpp"

namespace herdlock::algo {
namespace {

using namespace near_model;

constexpr int max_staleness = 40;

struct figures {
  int hits = 0;
  int negative_hits = 0;
  int stale_hits = 0;  // within max_staleness
  int fences = 0;
  int moves = 0;
};

class near_world {
 public:
  near_world(std::uint64_t seed, int nodes)
      : chance_(seed),
        servers_(nodes),
        machine_({.max_staleness = milliseconds(max_staleness),
                  .servers = nodes == 1 ? near_servers::one : near_servers::several}) {
    ends_.resize(static_cast<std::size_t>(nodes));
    for (int slot = 0; slot < slot_count; ++slot) map_[slot] = servers_.owner(slot);
  }

  /// False when a rule was broken; what() says which.
  bool run(int steps) {
    while (steps-- > 0 && broken_.empty()) {
      step();
      look();
    }
    return broken_.empty();
  }
  std::string const& what() const { return broken_; }
  figures const& seen() const { return figures_; }

 private:
  struct entry {
    int version;
    bool negative;
  };
  using end_ptr = std::shared_ptr<client_end>;

  clock::time_point at(int ms) const { return clock::time_point{} + milliseconds(1000 + ms); }
  clock::time_point now() const { return at(now_); }
  int any_key() { return chance_.below(key_count); }
  int any_node() { return chance_.below(ends_.size()); }

  void apply(near_plan const& plan) {
    auto const rest = table_.apply(plan, [](auto const& key) { return slot_of(key_of(key)); });
    for (near_action const& ping : rest.pings) {
      for (auto const& each : ends_) {
        if (each && each->of->id == ping.connection) {
          each->of->up.push_back({request::kind::ping, 0, ping.number});
        }
      }
    }
    if (rest.passed_fence != 0) pass(rest.passed_fence);
  }

  void pass(std::uint64_t number) {
    while (!fences_.empty() && fences_.begin()->first <= number) {
      for (int key = 0; key < key_count; ++key) {
        floor_[key] = std::max(floor_[key], fences_.begin()->second[key]);
      }
      ++figures_.fences;
      fences_.erase(fences_.begin());
    }
  }

  void step() {
    switch (chance_.below(40)) {
      case 0:
      case 1:
        now_ += 1 + chance_.below(3);
        break;
      case 2:
        if (chance_.one_of(12)) now_ += chance_.below(2 * max_staleness);
        break;
      case 3:
        others_write();
        break;
      case 4:
        begin_own_write();
        break;
      case 5:
        go_on_with_own_write();
        break;
      case 6:
        if (chance_.one_of(3)) begin_fence();
        break;
      case 7:
        trouble();
        break;
      case 8:
        notice_trouble();
        break;
      case 9:
        move_slots();
        break;
      case 10:
      case 11:
        if (machine_.due() <= now()) apply(machine_.timer(now()));
        break;
      default:
        traffic();
    }
  }

  void traffic() {
    int const node = any_node();
    if (!ends_[node]) {
      if (chance_.one_of(2)) connect(node);
      return;
    }
    switch (chance_.below(4)) {
      case 0:
        return read(any_key());
      case 1:
        return servers_.step(*ends_[node]->of, now_);
      case 2:
        return take_off(*ends_[node]);
      default:
        return handle(some_end());
    }
  }

  void connect(int node) {
    auto const id = machine_.connected(now());
    if (!id) return;
    ends_[node] = std::make_shared<client_end>(client_end{servers_.connect(node)});
    ends_[node]->of->id = *id;
    ends_[node]->of->up.push_back({request::kind::track});
  }

  void read(int key) {
    end_ptr const& over = ends_[map_[slot_of(key)]];
    if (!over || table_.hit(name_of(key), now())) return;
    auto const stamp = machine_.read_sent(over->of->id, name_of(key), now());
    if (stamp) over->of->up.push_back({request::kind::read, key, 0, *stamp});
  }

  // From the wire into somebody's hands.
  void take_off(client_end& from) {
    if (from.of->down.empty()) return;
    value const one = from.of->down.front();
    from.of->down.pop_front();
    if (one.what == value::kind::push || one.what == value::kind::flush) {
      from.pushes.push_back(one);
      ++from.pushes_read;
      return;
    }
    from.answers.push_back(one);
    from.pushes_before.push_back(from.pushes_read);
  }

  // What was read from a connection may be handled when it has been given up.
  end_ptr some_end() {
    if (!old_ends_.empty() && chance_.one_of(3)) return old_ends_[chance_.below(old_ends_.size())];
    return ends_[any_node()];
  }

  void handle(end_ptr const& from) {
    if (!from) return;
    near_connection const id = from->of->id;
    if (!from->pushes.empty() && chance_.one_of(2)) {
      value const one = from->pushes.front();
      from->pushes.pop_front();
      if (one.what == value::kind::flush) return apply(machine_.flushed(id, now()));
      std::string const name = name_of(one.key);
      std::string_view const key = name;
      return apply(machine_.invalidated(id, std::span(&key, 1), now()));
    }
    if (from->answers.empty()) return;
    int const i = chance_.below(from->answers.size());
    value const one = from->answers[i];
    auto const pushes_before = from->pushes_before[i];
    from->answers.erase(from->answers.begin() + i);
    from->pushes_before.erase(from->pushes_before.begin() + i);
    if (one.what == value::kind::pong) {
      return apply(machine_.pong(id, one.to.number, pushes_before, now()));
    }
    answered(id, one);
  }

  void answered(near_connection from, value const& one) {
    std::string const name = name_of(one.to.key);
    switch (one.what) {
      case value::kind::tracking:
        return apply(machine_.tracking_on(from));
      case value::kind::written:
        if (one.to.number != 0) return end_own_write(one.to.number, one.version);
        return acknowledge(one.to.key, one.version);
      case value::kind::moved:
        return learn(slot_of(one.to.key), one.node);
      case value::kind::ask:
        apply(machine_.asked(from));
        if (ends_[one.node]) {
          ends_[one.node]->of->up.push_back(
              {request::kind::read_asking, one.to.key, 0, one.to.stamp});
        }
        return;
      case value::kind::found:
      case value::kind::missing: {
        bool const negative = one.what == value::kind::missing;
        near_answer const brought{
            from, negative ? near_answer::found::negative : near_answer::found::value};
        auto const how = machine_.fill(name, one.to.stamp, brought, now());
        if (how) table_.insert(name, *how, {one.version, negative});
        return;
      }
      default:
        return;
    }
  }

  void learn(int slot, int node) {
    apply(machine_.slot_moved(static_cast<std::uint16_t>(slot)));
    map_[slot] = node;
  }

  // Writes.

  void acknowledge(int key, int version) { acked_[key] = std::max(acked_[key], version); }

  void others_write() {
    int const key = any_key();
    end_ptr const& over = ends_[servers_.owner(slot_of(key))];
    // Another cache of this process, over the connection that tracks.
    if (over && chance_.one_of(3)) return over->of->up.push_back({request::kind::write, key});
    int const version = servers_.write(key, now_);
    if (!chance_.one_of(4)) acknowledge(key, version);
  }

  void begin_own_write() {
    int const key = any_key();
    auto const number = ++last_write_;
    own_writes_.emplace(number, key);
    ++writing_[key];
    apply(machine_.write_sent(name_of(key)));
    end_ptr const& over = ends_[servers_.owner(slot_of(key))];
    if (!over || chance_.one_of(2)) return elsewhere_.push_back({number, 0});
    over->own_writes.insert(number);
    over->of->up.push_back({request::kind::write, key, number});
  }
  // Over a connection that does not track: executed, then answered.
  void go_on_with_own_write() {
    if (elsewhere_.empty()) return;
    int const i = chance_.below(elsewhere_.size());
    auto& [number, version] = elsewhere_[i];
    if (version == 0) {
      version = servers_.write(own_writes_[number], now_);
      return;
    }
    end_own_write(number, version);
    elsewhere_.erase(elsewhere_.begin() + i);
  }
  void end_own_write(std::uint64_t number, int version) {
    auto const at = own_writes_.find(number);
    if (at == own_writes_.end()) return;  // its caller was told that the connection is lost
    int const key = at->second;
    give_up_own_write(number);
    acknowledge(key, version);
    floor_[key] = std::max(floor_[key], version);
  }
  void give_up_own_write(std::uint64_t number) {
    auto const at = own_writes_.find(number);
    if (at == own_writes_.end()) return;
    --writing_[at->second];
    machine_.write_ended(name_of(at->second));
    own_writes_.erase(at);
  }

  void begin_fence() {
    fences_.emplace(machine_.last_fence() + 1, acked_);
    apply(machine_.fence(now()));
  }

  // Trouble, and when it is noticed.

  void trouble() {
    int const node = any_node();
    if (chance_.one_of(8)) {
      servers_.flush(node, now_);
      for (int key = 0; key < key_count; ++key) acknowledge(key, servers_.version(key));
    }
    if (chance_.one_of(16)) servers_.restart(node, now_);
    if (!ends_[node] || !chance_.one_of(8)) return;
    wire& of = *ends_[node]->of;
    servers_.cut(of);
    while (!of.down.empty() && chance_.one_of(2)) of.down.pop_back();
  }

  void notice_trouble() {
    int const node = any_node();
    end_ptr& one = ends_[node];
    if (!one || !chance_.one_of(one->of->cut ? 3 : 60)) return;
    if (!one->of->cut) servers_.cut(*one->of);
    for (request const& each : one->of->up) {
      // It may have arrived all the same.
      if (each.what == request::kind::write && chance_.one_of(2)) servers_.write(each.key, now_);
    }
    for (auto const number : one->own_writes) give_up_own_write(number);
    apply(machine_.lost(one->of->id, now()));
    old_ends_.push_back(one);
    if (old_ends_.size() > 3) old_ends_.erase(old_ends_.begin());
    one.reset();
  }

  void move_slots() {
    if (ends_.size() == 1) return;
    int const slot = chance_.below(slot_count);
    int const owner = servers_.owner(slot);
    if (chance_.one_of(3)) servers_.move_on(slot, any_node());
    if (owner != servers_.owner(slot)) ++figures_.moves;
    // A look at the map of the cluster.
    if (chance_.one_of(20) && map_[slot] != servers_.owner(slot)) learn(slot, servers_.owner(slot));
  }

  // What everybody would be served now.
  void look() {
    for (int key = 0; key < key_count; ++key) {
      auto const served = table_.hit(name_of(key), now());
      if (!served) continue;
      ++figures_.hits;
      if (served->negative) ++figures_.negative_hits;
      if (writing_[key] != 0) broken_ = "served during an own write";
      if (served->version < floor_[key]) broken_ = "served what was changed before a fence";
      if (served->version == servers_.version(key)) continue;
      ++figures_.stale_hits;
      if (now_ - servers_.executed(key, served->version + 1) >= max_staleness) {
        broken_ = "served for longer than max_staleness";
      }
    }
  }

  chance chance_;
  servers servers_;
  near_machine machine_;
  near_table<entry> table_;
  std::vector<end_ptr> ends_;      // by node; null: not connected
  std::vector<end_ptr> old_ends_;  // given up, with what was read from them
  std::array<int, slot_count> map_{};
  int now_ = 0;
  std::array<int, key_count> acked_{};
  std::array<int, key_count> floor_{};
  std::array<int, key_count> writing_{};
  std::uint64_t last_write_ = 0;
  std::map<std::uint64_t, int> own_writes_;               // under way: the key
  std::vector<std::pair<std::uint64_t, int>> elsewhere_;  // of these: the version, when executed
  std::map<std::uint64_t, std::array<int, key_count>> fences_;
  figures figures_;
  std::string broken_;
};

void expect_coherence(std::uint64_t seed, int nodes) {
  near_world one(seed, nodes);
  if (!one.run(2000)) RC_FAIL(one.what());
}

RC_GTEST_PROP(NearModel, OneServerIsCoherent, (std::uint64_t seed)) { expect_coherence(seed, 1); }

RC_GTEST_PROP(NearModel, AClusterIsCoherent, (std::uint64_t seed)) { expect_coherence(seed, 3); }

TEST(NearModelItself, ServesOftenEnoughToShowSomething) {
  figures all;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    near_world one(seed, seed % 2 == 0 ? 1 : 3);
    EXPECT_TRUE(one.run(2000)) << one.what() << ", seed " << seed;
    all.hits += one.seen().hits;
    all.negative_hits += one.seen().negative_hits;
    all.stale_hits += one.seen().stale_hits;
    all.fences += one.seen().fences;
    all.moves += one.seen().moves;
  }
  EXPECT_GT(all.hits, 40'000);
  EXPECT_GT(all.negative_hits, 2'000);
  EXPECT_GT(all.stale_hits, 500) << "caught in time";
  EXPECT_GT(all.fences, 500);
  EXPECT_GT(all.moves, 100);
}

}  // namespace
}  // namespace herdlock::algo
