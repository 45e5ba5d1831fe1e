#include "stores/etcd/etcd_store.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include "stores/etcd/connection_pool.hpp"
#include "stores/etcd/settings.hpp"

namespace herdlock {
namespace etcd {
namespace {

using nlohmann::json;

constexpr std::int64_t longest_least_ttl = 5;  // seconds

// A key that was created before the first revision.
constexpr char const* write_that_never_is =
    R"({"compare":[{"key":"aGVyZGxvY2stZG9jdG9yLw==","target":"CREATE","result":"LESS",)"
    R"("create_revision":"0"}],"success":[{"request_put":{"key":"aGVyZGxvY2stZG9jdG9yLw==",)"
    R"("value":""}}],"failure":[]})";

class cluster_check {
 public:
  cluster_check(settings how, examination& into) : how_(std::move(how)), into_(into) {}

  void make() {
    std::size_t reached = 0;
    std::string silent;
    for (auto const& one : how_.members) {
      auto const told = ask(one, "/v3/maintenance/status", "{}");
      if (told.ok()) {
        ++reached;
        member_of(one, told.body);
      } else {
        silent += " " + one.text() + " (" + failure_of(told).message + ")";
      }
    }
    bool const majority = reached * 2 > how_.members.size();
    into_.expect(
        silent.empty(),
        {"etcd.members", majority ? severity::warning : severity::error, "no answer from" + silent,
         majority ? "fewer members may fail before nothing is granted any more"
                  : "there is no lock to be had",
         "start them, or put the URL right"});
    if (reached == 0) return;
    alarms();
    least_ttl();
    rights();
  }

 private:
  call_outcome ask(stores::server_address const& whom, char const* path, std::string const& body) {
    settings one = how_;
    one.members = {whom};
    return ask(std::move(one), path, body);
  }
  // Of the cluster, whichever member answers.
  call_outcome ask(settings how, char const* path, std::string const& body) {
    auto const limit = clock::now() + how.timeout;
    boost::asio::io_context io;
    auto const way = std::make_shared<connection_pool>(io.get_executor(), std::move(how));
    call_outcome outcome;
    auto const run = [&]() -> boost::asio::awaitable<void> {
      auto calling = way->call(path, body, limit);
      outcome = co_await std::move(calling);
    };
    boost::asio::co_spawn(io, run(), [](std::exception_ptr) {});
    io.run_until(std::chrono::steady_clock::now() + how_.timeout + milliseconds{500});
    bool const silent = !outcome.why.code && outcome.body.empty() && outcome.refused.code == 0;
    if (silent) outcome.why = make_failure(errc::timed_out, "no answer");
    return outcome;
  }

  void member_of(stores::server_address const& one, std::string const& body) {
    auto const told = json::parse(body, nullptr, false);
    if (!told.is_object()) return;
    auto const leader = told.value("leader", std::string("0"));
    into_.expect(leader != "0" && !leader.empty(),
                 {"etcd.leader", severity::error, one.text() + " knows no leader",
                  "nothing can be granted through it", "let it reach the other members"});
    into_.expect(!told.contains("errors") || told["errors"].empty(),
                 {"etcd.health", severity::error,
                  one.text() + " reports: " + told.value("errors", json::array()).dump(),
                  "writes may be refused", "see etcdctl endpoint status and its log"});
    into_.expect(!told.value("isLearner", false),
                 {"etcd.learner", severity::error, one.text() + " is a learner",
                  "it answers no requests of ours", "name voting members"});
  }

  void alarms() {
    auto const told = ask(how_, "/v3/maintenance/alarm", R"({"action":"GET"})");
    if (!told.ok()) return into_.skip("etcd.alarms", failure_of(told).message);
    auto const body = json::parse(told.body, nullptr, false);
    std::string raised;
    if (body.is_object() && body.contains("alarms")) {
      for (auto const& one : body["alarms"]) raised += " " + one.value("alarm", std::string("?"));
    }
    into_.expect(raised.empty(), {"etcd.alarms", severity::error, "alarms are raised:" + raised,
                                  "with NOSPACE the cluster takes no writes: nothing is granted, "
                                  "renewed leases end",
                                  "compact, defragment, then etcdctl alarm disarm; raise "
                                  "--quota-backend-bytes"});
  }

  // Server-chosen id 0; given back at once.
  void least_ttl() {
    auto const told = ask(how_, path::grant, R"({"TTL":"1","ID":"0"})");
    if (!told.ok()) return into_.skip("etcd.least_ttl", failure_of(told).message);
    auto const body = json::parse(told.body, nullptr, false);
    if (!body.is_object()) return into_.skip("etcd.least_ttl", "not understood: " + told.body);
    auto const text = body.value("TTL", std::string("0"));
    auto const granted = std::atoll(text.c_str());
    auto const id = body.value("ID", std::string("0"));
    ask(how_, path::revoke, R"({"ID":")" + id + "\"}");
    into_.expect(granted <= longest_least_ttl,
                 {"etcd.least_ttl", severity::warning,
                  "the shortest lease is " + text + " s, from the election timeout",
                  "what a dead holder had is free that much later, whatever its ttl",
                  "lower --election-timeout (1000 ms by default), if the network allows"});
  }

  // A read, and a write that depends on what cannot be true: the right to it is looked at first.
  void rights() {
    auto told = ask(how_, path::range, R"({"key":"aGVyZGxvY2stZG9jdG9yLw=="})");
    bool const reads = told.ok();
    if (reads) told = ask(how_, path::txn, write_that_never_is);
    auto const why = failure_of(told);
    into_.expect(told.ok(), {"etcd.rights", severity::error,
                             std::string(reads ? "writing" : "reading") +
                                 " herdlock-doctor/ is refused: " + why.message,
                             "leases cannot be kept there",
                             "grant the user's role readwrite on the keys of its resources"});
  }

  settings how_;
  examination& into_;
};

}  // namespace
}  // namespace etcd

result<examination> examine_etcd(store_url url) {
  auto how = etcd::parse_settings(std::move(url));
  if (how.has_error()) return how.error();
  examination made;
  etcd::cluster_check(std::move(*how), made).make();
  return made;
}

}  // namespace herdlock
