// Servers that push, as far as the near cache sees them: keys with versions, slots that move,
// connections whose two directions keep their order.
//
// A version counts what happened to a key, that it went missing included, so that any two answers
// can be compared. What is pushed, and what is not, is as measured with Redis and Valkey.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "algo/near_machine.hpp"

namespace herdlock::algo::near_model {

inline constexpr int key_count = 6;
inline constexpr int slot_count = 3;
inline std::uint16_t slot_of(int key) { return static_cast<std::uint16_t>(key % slot_count); }
inline std::string name_of(int key) { return "k" + std::to_string(key); }
inline int key_of(std::string_view name) { return name[1] - '0'; }

class chance {
 public:
  explicit chance(std::uint64_t seed) : state_(seed) {}
  int below(std::size_t n) {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<int>((z ^ (z >> 31)) % n);
  }
  bool one_of(std::size_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

struct request {
  enum class kind { track, ping, read, read_asking, write };

  kind what;
  int key = 0;
  std::uint64_t number = 0;  // of a ping; of a write that our cache knows of
  near_stamp stamp{};
};

struct value {
  enum class kind { tracking, pong, push, flush, found, missing, moved, ask, written, refused };

  kind what;
  request to{};
  int key = 0;      // of a push
  int version = 0;  // of found, missing, written
  int node = 0;     // of moved, ask
};

// From when it is up until the client gives it up.
struct wire {
  int node;
  near_connection id{};
  std::deque<request> up{};
  std::deque<value> down{};
  bool cut = false;       // the server has forgotten it; the client need not know
  bool tracking = false;  // at the server
  std::set<int> tracked{};
};

// Our side of a connection: what was read from it and is not handled yet.
struct client_end {
  std::shared_ptr<wire> of;
  std::deque<value> pushes{};
  std::vector<value> answers{};
  std::vector<std::uint64_t> pushes_before{};  // of each answer
  std::uint64_t pushes_read = 0;
  std::set<std::uint64_t> own_writes{};
};

class servers {
 public:
  explicit servers(int nodes) : nodes_(nodes) {
    for (int slot = 0; slot < slot_count; ++slot) owner_[slot] = slot % nodes;
    for (auto& each : keys_) each.executed.push_back(0);
  }

  int nodes() const { return nodes_; }
  int owner(int slot) const { return owner_[slot]; }
  int version(int key) const { return static_cast<int>(keys_[key].executed.size()) - 1; }
  /// When the write was executed that made this version.
  int executed(int key, int version) const { return keys_[key].executed[version]; }

  std::shared_ptr<wire> connect(int node) {
    wires_.push_back(std::make_shared<wire>(wire{node}));
    return wires_.back();
  }
  /// The server forgets it. Requests that have arrived may be executed all the same.
  void cut(wire& one) {
    one.cut = true;
    one.tracking = false;
    one.tracked.clear();
    std::erase_if(wires_, [&](auto const& each) { return each.get() == &one; });
  }

  /// Executes the next request of the wire.
  void step(wire& from, int now) {
    if (from.up.empty()) return;
    request const one = from.up.front();
    from.up.pop_front();
    if (one.what == request::kind::track) {
      from.tracking = !from.cut;
      return answer(from, {value::kind::tracking, one});
    }
    if (one.what == request::kind::ping) return answer(from, {value::kind::pong, one});
    if (one.what == request::kind::write) {
      return answer(from, {value::kind::written, one, 0, write(one.key, now, &from)});
    }
    read(from, one);
  }

  /// By anybody, at whatever node has the key now. `by` is the connection, if it is one of ours.
  int write(int key, int now, wire const* by = nullptr) {
    state& of = keys_[key];
    int const slot = slot_of(key);
    if (!of.present) of.node = moving_[slot] >= 0 ? moving_[slot] : owner_[slot];
    // Deleted now and then, and set otherwise.
    of.present = !of.present || version(key) % 3 != 0;
    of.executed.push_back(now);
    push(key, of.node, by);
    return version(key);
  }

  void flush(int node, int now) {
    for (state& each : keys_) {
      if (!each.present || each.node != node) continue;
      each.present = false;
      each.executed.push_back(now);
    }
    for (auto const& each : wires_) {
      if (each->node != node || !each->tracking) continue;
      each->tracked.clear();
      answer(*each, {value::kind::flush});
    }
  }
  /// It comes back empty.
  void restart(int node, int now) {
    auto const all = wires_;
    for (auto const& each : all) {
      if (each->node == node) cut(*each);
    }
    flush(node, now);
  }

  /// A slot begins to move, or goes on: one key, and in the end the slot itself.
  void move_on(int slot, int to) {
    if (moving_[slot] < 0) {
      if (to != owner_[slot]) moving_[slot] = to;
      return;
    }
    for (int key = slot; key < key_count; key += slot_count) {
      state& of = keys_[key];
      if (!of.present || of.node == moving_[slot]) continue;
      push(key, of.node, nullptr);  // deleted here, restored there
      of.node = moving_[slot];
      return push(key, of.node, nullptr);
    }
    owner_[slot] = moving_[slot];
    moving_[slot] = -1;
  }

 private:
  struct state {
    std::vector<int> executed{};  // when, by version
    bool present = false;
    int node = 0;
  };

  static void answer(wire& to, value const& what) {
    if (!to.cut) to.down.push_back(what);
  }

  void read(wire& from, request const& one) {
    int const slot = slot_of(one.key);
    state const& of = keys_[one.key];
    bool const asking = one.what == request::kind::read_asking && moving_[slot] == from.node;
    if (owner_[slot] != from.node && !asking) {
      return answer(from, {value::kind::moved, one, 0, 0, owner_[slot]});
    }
    bool const here = of.present && of.node == from.node;
    if (!here && moving_[slot] >= 0 && !asking) {
      return answer(from, {value::kind::ask, one, 0, 0, moving_[slot]});
    }
    if (!here && of.present) return answer(from, {value::kind::refused, one});
    if (from.tracking) from.tracked.insert(one.key);
    answer(from, {here ? value::kind::found : value::kind::missing, one, 0, version(one.key)});
  }

  void push(int key, int node, wire const* by) {
    auto const said = near_tracking_command();
    bool const noloop = std::find(said.begin(), said.end(), "NOLOOP") != said.end();
    for (auto const& each : wires_) {
      if (each->node != node || each->tracked.erase(key) == 0) continue;
      if (!noloop || each.get() != by) answer(*each, {value::kind::push, {}, key});
    }
  }

  int nodes_;
  std::array<int, slot_count> owner_{};
  std::array<int, slot_count> moving_{-1, -1, -1};
  std::array<state, key_count> keys_{};
  std::vector<std::shared_ptr<wire>> wires_;
};

}  // namespace herdlock::algo::near_model
