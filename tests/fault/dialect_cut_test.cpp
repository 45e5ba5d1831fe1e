// Every dialect, and one that waits for a replica, over connections that are cut after every byte
// of every exchange: no lock that nobody has, none that two have, and no `lost` for what is held.
#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include "redis_ports.hpp"

namespace herdlock_test {
namespace {

// Each cuts at some bytes of its own resource's exchanges, so that the pauses before connecting
// again overlap.
constexpr std::size_t lanes = 16;
constexpr milliseconds minute = 60s;

struct cut_kind {
  std::string name;
  std::string options{};
  std::string left_behind{};  // what the key holds before: getset takes over what is over
  bool remembers = false;     // a release that is asked again tells its first answer
  bool replicated = false;
};

void PrintTo(cut_kind const& kind, std::ostream* out) { *out << kind.name; }

bool granted(result<acquire_reply> const& reply) {
  return reply.has_value() && std::holds_alternative<grant>(*reply);
}
bool is_busy(result<acquire_reply> const& reply) {
  return reply.has_value() && std::holds_alternative<busy>(*reply);
}

struct tally {
  std::atomic<std::size_t> cuts{0};
  std::atomic<std::size_t> failed{0};   // acquisitions without an answer
  std::atomic<std::size_t> blocked{0};  // bids that were left to run out
};

// One of ours behind a relay, and a rival at the server itself.
class cut_lane {
 public:
  cut_lane(redis_server& server, cut_kind const& kind, std::size_t number, tally& found)
      : server_(server),
        kind_(kind),
        name_("r" + std::to_string(number)),
        found_(found),
        through_(server.port()),
        ours_(relay_url(through_, kind.options)),
        theirs_(server.url() + kind.options) {}

  void run(direction way, std::size_t first) {
    server_.cli("DEL " + name_);
    rival_takes_and_returns();  // the server knows the scripts then
    EXPECT_EQ(ours_.release(name_, owner_token::generate()).value(), release_reply::lost);
    for (std::size_t n = first; !testing::Test::HasFailure(); n += lanes) {
      SCOPED_TRACE("cut after " + std::to_string(n) + " bytes, " + kind_.name);
      if (!kind_.left_behind.empty()) server_.cli("SET " + name_ + " " + kind_.left_behind);
      through_.cut_after_bytes(way, n);
      turn();
      bool const was_cut = !through_.cut_pending();
      through_.disarm();
      rival_takes_and_returns();
      if (!was_cut) return;
      ++found_.cuts;
    }
  }

 private:
  void turn() {
    auto const mine = owner_token::generate();
    if (!take(mine)) return;
    EXPECT_TRUE(is_busy(theirs_.acquire(name_, rival_, minute))) << "granted twice";
    auto renewed = ours_.renew(name_, mine, minute);
    if (renewed.has_error()) renewed = ours_.renew(name_, mine, minute);
    EXPECT_TRUE(renewed.has_value() && *renewed == renew_reply::renewed) << "a false `lost`";
    EXPECT_TRUE(is_busy(theirs_.acquire(name_, rival_, minute))) << "granted twice after a renewal";
    auto released = ours_.release(name_, mine);
    // Asked again it may be `lost`: the first one may have done it, and leave no trace.
    bool const again = released.has_error();
    if (again) released = ours_.release(name_, mine);
    EXPECT_TRUE(released.has_value()) << released.error().message;
    if ((!again || kind_.remembers) && released.has_value()) {
      EXPECT_EQ(*released, release_reply::released) << "a false `lost`";
    }
  }

  // Until it is ours; false when it has to run out first.
  bool take(owner_token const& mine) {
    auto reply = ours_.acquire(name_, mine, minute);
    if (granted(reply)) return true;
    ++found_.failed;
    EXPECT_TRUE(reply.has_error() && reply.error() == errc::unavailable);
    bool const theirs = granted(theirs_.acquire(name_, rival_, minute));
    reply = ours_.acquire(name_, mine, minute);
    if (!theirs && granted(reply)) return true;
    auto const told = reply.has_error() ? reply.error().message : std::string();
    EXPECT_TRUE(is_busy(reply)) << (theirs ? "granted twice" : "neither had nor got") << told;
    if (theirs) {
      EXPECT_EQ(theirs_.release(name_, rival_).value(), release_reply::released);
      return granted(ours_.acquire(name_, mine, minute));
    }
    expect_a_bid_that_runs_out(mine);
    return false;
  }

  // A take-over whose answer was lost proves nothing, to nobody: its time is its end.
  void expect_a_bid_that_runs_out(owner_token const& mine) {
    ++found_.blocked;
    if (kind_.left_behind.empty()) {
      ADD_FAILURE() << "neither given again nor free: a ghost";
      return;
    }
    EXPECT_EQ(ours_.release(name_, mine).value(), release_reply::lost);
    auto const left = server_.cli("GET " + name_);
    auto const latest = std::chrono::system_clock::now().time_since_epoch() + minute + 2s;
    EXPECT_LE(std::stoll(left), std::chrono::duration_cast<std::chrono::seconds>(latest).count());
    server_.cli("DEL " + name_);
  }

  void rival_takes_and_returns() {
    EXPECT_EQ(server_.cli("EXISTS " + name_), "0") << "a ghost";
    EXPECT_TRUE(granted(theirs_.acquire(name_, rival_, minute)));
    EXPECT_EQ(theirs_.release(name_, rival_).value(), release_reply::released);
  }

  redis_server& server_;
  cut_kind const& kind_;
  std::string const name_;
  tally& found_;
  relay through_;
  redis_ports ours_;
  redis_ports theirs_;
  owner_token const rival_ = owner_token::generate();
};

class DialectCut : public testing::TestWithParam<cut_kind> {
 protected:
  DialectCut() {
    server.flush();
    if (!GetParam().replicated) return;
    auto const port = std::to_string(server.port());
    replica.emplace(redis_options{.arguments = {"--replicaof", "127.0.0.1", port}});
    EXPECT_TRUE(eventually([&] { return server.cli("WAIT 1 1000") == "1"; }));
  }
  redis_server& server = redis_server::shared();
  std::optional<redis_server> replica;
};

// A cut is seen at once; what is slow on a busy machine, a replica too, has time to answer.
INSTANTIATE_TEST_SUITE_P(
    kinds, DialectCut,
    testing::Values(cut_kind{.name = "herdlock", .options = "?timeout=20s", .remembers = true},
                    cut_kind{.name = "wait",
                             .options = "?timeout=20s&wait_replicas=1",
                             .remembers = true,
                             .replicated = true},
                    cut_kind{"plain", "?timeout=20s&dialect=plain", ""},
                    cut_kind{"getset", "?timeout=20s&dialect=getset", ""},
                    cut_kind{"getset_takeover", "?timeout=20s&dialect=getset", "1"}),
    [](auto const& of) { return of.param.name; });

TEST_P(DialectCut, AfterEveryByteOfATurnNothingIsHeldTwiceOrByNobody) {
  for (auto way : {direction::to_server, direction::to_client}) {
    tally found;
    std::vector<std::thread> all;
    for (std::size_t i = 0; i < lanes; ++i) {
      all.emplace_back([&, i] { cut_lane(server, GetParam(), i, found).run(way, i); });
    }
    for (auto& one : all) one.join();
    std::printf("%s, %s: %zu cuts, %zu acquisitions without an answer, %zu left to run out\n",
                GetParam().name.c_str(), way == direction::to_server ? "requests" : "replies",
                found.cuts.load(), found.failed.load(), found.blocked.load());
    EXPECT_GT(found.cuts, way == direction::to_server ? 250u : 8u);
    EXPECT_GT(found.failed, 0u);
  }
}

// HELLO, INFO and TIME, before anything is asked.
void cut_greetings(std::uint16_t port, direction way, std::size_t first, std::size_t step,
                   std::atomic<std::size_t>& cuts) {
  std::string const name = "r" + std::to_string(first);
  for (std::size_t n = first; !testing::Test::HasFailure(); n += step) {
    SCOPED_TRACE("cut after " + std::to_string(n) + " bytes");
    relay through(port);
    through.cut_after_bytes(way, n);
    redis_ports ports(relay_url(through, "?dialect=plain"));
    auto const mine = owner_token::generate();
    auto const seen = ports.get<std::optional<lease_info>>(
        [&](auto h) { ports.leases().inspect(resource(name), std::move(h)); });
    bool const was_cut = !through.cut_pending();
    through.disarm();
    // Cut behind the greeting it is the command's own end.
    EXPECT_TRUE(seen.has_value() || was_cut);
    EXPECT_TRUE(granted(ports.acquire(name, mine)));
    EXPECT_EQ(ports.release(name, mine).value(), release_reply::released);
    if (!was_cut) return;
    ++cuts;
  }
}

TEST(GreetingCut, AConnectionThatIsCutInItsGreetingIsMadeAgain) {
  auto& server = redis_server::shared();
  server.flush();
  for (auto way : {direction::to_server, direction::to_client}) {
    std::size_t const step = way == direction::to_server ? lanes : 13 * lanes;
    std::atomic<std::size_t> cuts{0};
    std::vector<std::thread> all;
    for (std::size_t i = 0; i < lanes; ++i) {
      all.emplace_back([&, i] { cut_greetings(server.port(), way, i * step / lanes, step, cuts); });
    }
    for (auto& one : all) one.join();
    std::printf("greetings, %s: %zu cuts\n", way == direction::to_server ? "requests" : "replies",
                cuts.load());
    EXPECT_GT(cuts, 150u);
  }
}

}  // namespace
}  // namespace herdlock_test
