// Acquire and release over ZooKeeper, and the hand-over among eight processes, beside the requests
// that they take at least, sent by hand through the same C client; and beside kazoo's Lock.
//
// HERDLOCK_BENCH_PIN=1 keeps the server on CPU 0 and the clients on CPU 1.
#include <zookeeper/zookeeper.h>

#include <sstream>
#include <support/gate.hpp>
#include <support/zookeeper_server.hpp>

#include "contenders.hpp"
#include "stores/zookeeper/zookeeper_store.hpp"

namespace {

using namespace bench;

constexpr std::size_t pairs = 16;  // of one round

// The requests of the lock recipe and nothing else; every call blocks.
class by_hand final : public turn_taker {
 public:
  by_hand(std::string const& servers, std::string path) : path_(std::move(path)) {
    zk_ = zookeeper_init2(servers.c_str(), &on_event, 10'000, nullptr, &connected_, 0,
                          [](char const*) {});
    must(connected_.wait(), "no connection to ZooKeeper");
    require(zoo_create(zk_, path_.c_str(), nullptr, -1, &ZOO_OPEN_ACL_UNSAFE, 0, nullptr, 0));
  }
  ~by_hand() override { zookeeper_close(zk_); }

  void take() override {
    char mine[512];
    require(zoo_create(zk_, (path_ + "/x-lock-").c_str(), "x", 1, &ZOO_OPEN_ACL_UNSAFE,
                       ZOO_EPHEMERAL_SEQUENTIAL, mine, sizeof mine));
    mine_ = mine;
    String_vector found{};
    require(zoo_get_children(zk_, path_.c_str(), 0, &found));
    std::string before;
    std::string const name = mine_.substr(path_.size() + 1);
    for (int i = 0; i < found.count; ++i) {
      std::string const one = found.data[i];
      if (one < name && one > before) before = one;
    }
    deallocate_String_vector(&found);
    if (before.empty()) return;
    Stat ignored{};
    auto const there =
        zoo_wexists(zk_, (path_ + "/" + before).c_str(), &on_gone, &gone_.emplace(), &ignored);
    if (there == ZNONODE) return;
    require(there);
    must(gone_->wait(), "no event of ZooKeeper");
  }
  void give_back() override { require(zoo_delete(zk_, mine_.c_str(), -1)); }

 private:
  using gate = herdlock_test::gate;

  static void require(int code) {
    if (code != ZOK && code != ZNODEEXISTS) throw std::runtime_error(zerror(code));
  }
  static void on_event(zhandle_t*, int, int state, char const*, void* connected) {
    if (state == ZOO_CONNECTED_STATE) static_cast<gate*>(connected)->open();
  }
  static void on_gone(zhandle_t*, int type, int, char const*, void* gone) {
    if (type == ZOO_DELETED_EVENT) static_cast<gate*>(gone)->open();
  }

  std::string const path_;
  gate connected_;
  std::optional<gate> gone_;
  std::string mine_;
  zhandle_t* zk_ = nullptr;
};

// A process with kazoo's Lock.
class kazoo {
 public:
  kazoo(std::string const& servers, std::string const& path)
      : child_({.argv = {"/usr/bin/python3", HERDLOCK_KAZOO_BENCH, servers, path},
                .input = herdlock_test::process_input::pipe}) {}

  void tell(std::string const& what) { child_.write_line(what); }
  std::string answer() {
    std::string line;
    bool const answered = herdlock_test::eventually([&] {
      auto const all = child_.output();
      auto const end = all.find('\n', read_);
      if (end != all.npos) line = all.substr(read_, end - read_);
      return end != all.npos || !child_.running();
    });
    if (!answered || line.empty()) throw std::runtime_error("kazoo: " + child_.errors());
    read_ += line.size() + 1;
    return line;
  }
  double pairs_of() {
    tell("pairs " + std::to_string(pairs));
    return std::stod(answer());
  }

 private:
  herdlock_test::child_process child_;
  std::size_t read_ = 0;
};

// The gaps of a burst of all of them.
gaps play(std::vector<kazoo>& all) {
  for (auto& one : all) one.tell("turn");
  std::array<turn, contenders> turns;
  for (std::size_t i = 0; i < contenders; ++i) {
    std::istringstream(all[i].answer()) >> turns[i].acquired_ns >> turns[i].released_ns;
  }
  std::ranges::sort(turns, {}, &turn::acquired_ns);
  return gaps_between(turns);
}

void measure_hand_overs(report& to, std::string const& url, std::string const& servers) {
  contest among([&](turn_takers& ways, std::size_t) {
    ways.push_back(std::make_unique<lease_taker>(url, "hand-over"));
    ways.push_back(std::make_unique<by_hand>(servers, "/by-hand"));
  });
  compare_hand_overs(to, "zookeeper.hand_over_p50", among.by(0), among.by(1), at_most(1.5));
  constexpr char beside_kazoo[] = "zookeeper.hand_over_beside_kazoo";
  if (!to.wants(beside_kazoo)) return;
  std::vector<kazoo> theirs;
  for (std::size_t i = 0; i < contenders; ++i) {
    theirs.emplace_back(servers, "/kazoo-hand-over");
  }
  auto const by_theirs = [&] { return play(theirs); };
  compare_hand_overs(to, beside_kazoo, among.by(0), by_theirs, at_most(0.8));
}

void measure(report& to) {
  auto server = started<herdlock_test::zookeeper_server>(
      1, herdlock_test::zookeeper_extras{.syncs = herdlock_test::disk_syncs::kept});
  auto const url = server.url("/bench");
  auto const servers = "127.0.0.1:" + std::to_string(server.port());
  measure_hand_overs(to, url, servers);
  lease_taker ours(url, "pairs");
  by_hand minimum(servers, "/pairs");
  event_loop loop;
  store_taker trying(loop, &herdlock::open_zookeeper, url);
  auto const limit = at_most(1.25);
  compare_pairs(to, "zookeeper.acquire_release", ours, minimum, limit, pairs);
  compare_pairs(to, "zookeeper.try_acquire_release", trying, minimum, limit, pairs);
  kazoo theirs(servers, "/kazoo-pairs");
  to.compare(
      "zookeeper.acquire_release_beside_kazoo", "us", [&] { return pairs_of(ours, pairs); },
      [&] { return theirs.pairs_of(); }, at_most(0.8), 40);
}

suite const zookeeper_suite("zookeeper", &measure);

}  // namespace
