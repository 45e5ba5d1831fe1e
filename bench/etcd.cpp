// Acquire and release over etcd, and the hand-over among eight processes, beside the calls that
// they take at least, sent by hand; and the hand-over beside that of the server's own lock service.
// All through the JSON gateway.
//
// HERDLOCK_BENCH_PIN=1 keeps the server on CPU 0 and the clients on CPU 1.
#include <fmt/format.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <nlohmann/json.hpp>
#include <support/etcd_server.hpp>

#include "contenders.hpp"
#include "stores/etcd/encoding.hpp"
#include "stores/etcd/etcd_store.hpp"

namespace {

using namespace bench;
using herdlock::etcd::to_base64;
using nlohmann::json;

constexpr std::size_t pairs = 16;  // of one round
constexpr std::size_t bursts = 60;
constexpr double longest_p99 = 10'000;  // µs

// An etcd client that does the least, over a plain socket that stays open; every call blocks.
class raw_client {
 public:
  explicit raw_client(std::uint16_t port) : socket_(io_) {
    socket_.connect({asio::ip::address_v4::loopback(), port});
    socket_.set_option(asio::ip::tcp::no_delay(true));
  }

  /// The answer's body.
  std::string post(std::string const& path, json const& request) {
    auto const text = request.dump();
    send(fmt::format("POST /v3/{} HTTP/1.1\r\nHost: etcd\r\nContent-Length: {}\r\n\r\n{}", path,
                     text.size(), text));
    auto const head = read_until("\r\n\r\n");
    if (head.find(" 200 ") == std::string::npos) {
      throw std::runtime_error("etcd refuses " + path + ": " + head + in_);
    }
    if (head.find("chunked") != std::string::npos) return read_until("0\r\n\r\n");
    auto const at = head.find("Content-Length: ");
    if (at == std::string::npos) throw std::runtime_error("an answer without its length");
    auto const length = std::stoul(head.substr(at + 16));
    auto const left = length - std::min(length, in_.size());
    asio::read(socket_, asio::dynamic_buffer(in_), asio::transfer_exactly(left));
    return taken(length);
  }

  /// Watches one more key, in place of posts; returns when the watch stands.
  void watch(std::string const& key) {
    if (!std::exchange(watches_, true)) {
      send(
          "POST /v3/watch HTTP/1.1\r\nHost: etcd\r\nTransfer-Encoding: chunked\r\n"
          "Connection: close\r\n\r\n");
    }
    json const request{{"create_request", {{"key", key}, {"filters", json::array({"NOPUT"})}}}};
    auto const text = request.dump() + "\n";
    send(fmt::format("{:x}\r\n{}\r\n", text.size(), text));
    read_until("\"created\":true");
  }
  /// Until the key watched last is deleted.
  void wait_for_deletion() { read_until("\"DELETE\""); }

 private:
  void send(std::string const& text) { asio::write(socket_, asio::buffer(text)); }
  std::string read_until(std::string const& end) {
    return taken(asio::read_until(socket_, asio::dynamic_buffer(in_), end));
  }
  std::string taken(std::size_t size) {
    std::string text = in_.substr(0, size);
    in_.erase(0, size);
    return text;
  }

  asio::io_context io_;
  asio::ip::tcp::socket socket_;
  std::string in_;
  bool watches_ = false;
};

// A lease, a transaction that joins the queue, a watch on the one before; the lease's end.
class lock_by_hand final : public turn_taker {
 public:
  lock_by_hand(std::uint16_t port, std::string prefix, std::size_t number)
      : raw_(port), port_(port), prefix_(std::move(prefix)), lease_(1'000'000 * (number + 1)) {}

  void take() override {
    std::string const lease = std::to_string(++lease_);
    std::string const key = to_base64(prefix_ + "/" + lease);
    raw_.post("lease/grant", {{"ID", lease}, {"TTL", "30"}});
    json const is_new{
        {"key", key}, {"target", "CREATE"}, {"result", "EQUAL"}, {"create_revision", "0"}};
    json const range{{"key", to_base64(prefix_ + "/")},
                     {"range_end", to_base64(prefix_ + "0")},  // behind all with a /
                     {"sort_target", "CREATE"},
                     {"sort_order", "DESCEND"},
                     {"limit", "2"}};
    json const put{{"request_put", {{"key", key}, {"lease", lease}}}};
    json const join{{"compare", json::array({is_new})},
                    {"success", json::array({put, {{"request_range", range}}})}};
    auto const answer = json::parse(raw_.post("kv/txn", join));
    auto const& found = answer["responses"][1]["response_range"]["kvs"];
    if (found.size() < 2) return;
    auto const before = found[1]["key"].get<std::string>();
    if (!watches_) watches_ = std::make_unique<raw_client>(port_);
    watches_->watch(before);
    auto const still = json::parse(raw_.post("kv/range", {{"key", before}}));
    // An event of a deletion before this look may be on its way: the watch is of no use any more.
    if (!still.contains("kvs")) return watches_.reset();
    watches_->wait_for_deletion();
  }
  void give_back() override { raw_.post("lease/revoke", {{"ID", std::to_string(lease_)}}); }

 private:
  raw_client raw_;
  std::unique_ptr<raw_client> watches_;
  std::uint16_t const port_;
  std::string const prefix_;
  std::uint64_t lease_;
};

// The server's own lock service, with one lease for all turns.
class lock_service final : public turn_taker {
 public:
  lock_service(std::uint16_t port, std::string const& name, std::size_t number)
      : raw_(port), name_(to_base64(name)), lease_(std::to_string(number + 1)) {
    raw_.post("lease/grant", {{"ID", lease_}, {"TTL", "3600"}});
  }
  void take() override {
    auto const answer = raw_.post("lock/lock", {{"name", name_}, {"lease", lease_}});
    key_ = json::parse(answer)["key"].get<std::string>();
  }
  void give_back() override { raw_.post("lock/unlock", {{"key", key_}}); }

 private:
  raw_client raw_;
  std::string const name_, lease_;
  std::string key_;
};

// What each way's hand-over shows at worst; the library's beside a limit in µs.
void measure_p99(report& to, std::vector<burst> const& ways) {
  std::string const name = "etcd.hand_over_p99";
  if (!to.wants(name)) return;
  auto const all = gaps_of(ways, to.quick() ? bursts / 3 : bursts);
  add_percentile(to, name, 0.99, all[0], {longest_p99}, at_most(1));
  add_percentile(to, name + "_beside_by_hand", 0.99, all[0], all[1]);
  add_percentile(to, name + "_beside_lock_service", 0.99, all[0], all[2]);
}

void measure_etcd(report& to) {
  auto server =
      started<herdlock_test::etcd_server>(std::vector<std::string>{"--unsafe-no-fsync=false"});
  {
    contest among([&](turn_takers& ways, std::size_t number) {
      ways.push_back(std::make_unique<lease_taker>(server.url(), "hand-over"));
      ways.push_back(std::make_unique<lock_by_hand>(server.port(), "raw", number));
      ways.push_back(std::make_unique<lock_service>(server.port(), "theirs", number));
    });
    auto const ours = among.by(0), by_hand = among.by(1), service = among.by(2);
    compare_hand_overs(to, "etcd.hand_over_p50", ours, by_hand, at_most(1.5));
    compare_hand_overs(to, "etcd.hand_over_beside_lock_service", ours, service, at_most(1),
                       bursts / 3);
    measure_p99(to, {ours, by_hand, service});
  }
  event_loop loop;
  store_taker ours(loop, &herdlock::open_etcd, server.url());
  lock_by_hand minimum(server.port(), "pairs", contenders);
  compare_pairs(to, "etcd.acquire_release", ours, minimum, at_most(1.25), pairs);
}

suite const etcd_suite("etcd", &measure_etcd);

}  // namespace
