// The ACL lines that the pages of the stores print, run at a server as they stand: they suffice for
// what they are printed for, are what doctor asks for, and refuse what would end everybody's
// leases.
#include <fstream>
#include <herdlock/lock.hpp>
#include <herdlock/open.hpp>
#include <herdlock/rules_store.hpp>

#include "cluster_ports.hpp"
#include "owners.hpp"
#include "redis_wait.hpp"
#include "stores/redis/client/one_shot_client.hpp"
#include "stores/redis/redlock/redlock_store.hpp"
#include "stores/redis/settings.hpp"
#include "support/redis_nodes.hpp"

namespace herdlock_test {
namespace {

/// Those of a page in docs/stores that are about this user.
std::vector<std::string> acl_lines(std::string const& page, std::string const& user) {
  std::ifstream from(std::string(DOCS_FOLDER) + "/stores/" + page);
  std::vector<std::string> found;
  for (std::string line; std::getline(from, line);) {
    if (line.starts_with("ACL SETUSER " + user + " ")) found.push_back(line);
  }
  EXPECT_GE(found.size(), 1u) << page << ", " << user;
  return found;
}

void run_acl_lines(redis_server const& server, std::vector<std::string> const& all) {
  for (auto const& line : all) EXPECT_EQ(server.cli(line), "OK") << line;
}

std::string url_of_user(std::string const& user, redis_server const& server) {
  return "redis://" + user + ":secret@127.0.0.1:" + std::to_string(server.port());
}

void expect_refuses_what_harms_others(std::string const& url) {
  SCOPED_TRACE(url);
  std::vector<redis::command_words> const harmful = {
      {"FLUSHALL"},         {"FLUSHDB"},         {"FUNCTION", "FLUSH"},
      {"SWAPDB", "0", "1"}, {"SCRIPT", "FLUSH"}, {"CONFIG", "GET", "*"},
      {"KEYS", "*"},        {"SHUTDOWN"},        {"ACL", "LIST"},
      {"GET", "theirs"},    {"DEL", "theirs"}};
  auto const how = redis::parse_settings(store_url::parse(url).value());
  ASSERT_TRUE(how.has_value());
  auto const said = redis::ask_once(*how, harmful);
  ASSERT_TRUE(said.has_value()) << said.error().message;
  for (std::size_t i = 0; i < harmful.size(); ++i) {
    EXPECT_TRUE(said->at(i).is_error() && said->at(i).text().starts_with("NOPERM"))
        << harmful[i].front() << ": " << said->at(i).text();
  }
}

/// Nothing about rights is found, and nothing left out.
void expect_is_what_doctor_asks(result<examination> const& made) {
  ASSERT_TRUE(made.has_value()) << made.error().message;
  for (auto const& one : made->findings) {
    EXPECT_EQ(one.found.find("may not"), std::string::npos) << one.check << ": " << one.found;
  }
  EXPECT_NE(std::find(made->passed.begin(), made->passed.end(), "redis.rights"),
            made->passed.end());
  for (auto const& one : made->skipped) {
    EXPECT_EQ(one.find("permit"), std::string::npos) << one;
  }
}

void expect_no_word_about_rights(std::string const& url) {
  auto const opened = open_store(url);
  lock(opened, "app:warned").try_acquire({.ttl = 30s}).reset();
  auto const told = opened.warnings();
  for (auto const& one : told) {
    EXPECT_EQ(one.find("does not let us look"), std::string::npos) << one;
  }
}

/// Each verb of a lock, and a list of what is held.
void expect_suffices_for_locks(redis_ports& holder, std::string const& name) {
  auto const acquired = holder.acquire(name, mine);
  ASSERT_TRUE(acquired.has_value()) << acquired.error().message;
  EXPECT_TRUE(std::holds_alternative<grant>(*acquired));
  auto const renewed = holder.renew(name, mine, 30s);
  EXPECT_TRUE(renewed.has_value()) << renewed.error().message;
  auto const seen = holder.get<std::optional<lease_info>>(
      [&](auto h) { holder.leases().inspect(resource(name), std::move(h)); });
  EXPECT_TRUE(seen.has_value()) << seen.error().message;
  auto const listed =
      holder.get<lease_page>([&](auto h) { holder.leases().list({}, std::move(h)); });
  EXPECT_TRUE(listed.has_value()) << listed.error().message;
  auto const forced = holder.get<release_reply>(
      [&](auto h) { holder.leases().force_release(resource(name), std::move(h)); });
  EXPECT_TRUE(forced.has_value()) << forced.error().message;
  auto const again = holder.acquire(name, mine);
  EXPECT_TRUE(again.has_value()) << again.error().message;
  auto const released = holder.release(name, mine);
  EXPECT_TRUE(released.has_value()) << released.error().message;
}

void expect_suffices_for_a_hand_over(redis_ports& holder, redis_ports& waiter,
                                     std::string const& name) {
  redis_wait waits;
  fence_of(holder.acquire(name, mine));
  waits.start(waiter, resource(name), 1min);
  waiter.wait_for([&] {
    auto const seen = holder.get<std::optional<lease_info>>(
        [&](auto h) { holder.leases().inspect(resource(name), std::move(h)); });
    return seen.has_value() && *seen && (*seen)->waiters.size() == 1;
  });
  auto const released = holder.release(name, mine);
  EXPECT_TRUE(released.has_value()) << released.error().message;
  EXPECT_TRUE(waiter.wait_for([&] { return waits.granted(); }));
}

void expect_suffices_for_values(redis_ports& by) {
  for (auto const& value : {cache_value(std::string("v")), cache_value(hash_fields{{"f", "v"}})}) {
    auto const put = by.put("app:k", value);
    EXPECT_TRUE(put.has_value()) << put.error().message;
    auto const dropped =
        by.get<bool>([&](auto h) { by.values().invalidate(cache_key("app:k"), std::move(h)); });
    EXPECT_TRUE(dropped.has_value()) << dropped.error().message;
  }
  auto const claimed = by.claim("app:k", mine);
  ASSERT_TRUE(claimed.has_value()) << claimed.error().message;
  auto const filled = by.fill("app:k", mine, std::string("w"));
  EXPECT_TRUE(filled.has_value()) << filled.error().message;
  auto const found = by.look_up("app:k");
  EXPECT_TRUE(found.has_value()) << found.error().message;
  auto const kept = by.get<bool>([&](auto h) {
    by.ports().rules->prolong({cache_key("app:k"), 5min, 1h}, std::move(h));
  });
  EXPECT_TRUE(kept.has_value()) << kept.error().message;
  by.claim("app:other", mine);
  auto const failed = by.get<fill_reply>(
      [&](auto h) { by.values().fail(cache_key("app:other"), mine, "broken", 1s, std::move(h)); });
  EXPECT_TRUE(failed.has_value()) << failed.error().message;
}

redis_options server_with_a_log() { return {.arguments = {"--appendonly", "yes"}}; }

TEST(redis_documented_rights, OfRedisSuffice) {
  redis_server server(server_with_a_log());
  run_acl_lines(server, acl_lines("redis.md", "app"));
  auto const url = url_of_user("app", server);
  redis_ports one(url), two(url);
  expect_suffices_for_locks(one, "app:job");
  expect_suffices_for_locks(one, "app:{tagged}job");
  expect_suffices_for_a_hand_over(one, two, "app:line");
  expect_suffices_for_values(one);
  expect_no_word_about_rights(url);
  expect_is_what_doctor_asks(examine_redis(store_url::parse(url).value()));
  server.command({"SET", "theirs", "x"});
  expect_refuses_what_harms_others(url);
}

TEST(redis_documented_rights, OfRedisSufficeForQuarantine) {
  redis_server server(server_with_a_log());
  run_acl_lines(server, acl_lines("redis.md", "app"));
  redis_ports one(url_of_user("app", server) + "?quarantine=on&quarantine_ttl=100ms");
  EXPECT_TRUE(one.wait_for([&] {
    auto const reply = one.acquire("app:job", mine, 100ms);
    return reply.has_value() && std::holds_alternative<grant>(*reply);
  }));
}

TEST(redis_documented_rights, OfTheDialectsSuffice) {
  for (std::string const dialect : {"plain", "getset"}) {
    SCOPED_TRACE(dialect);
    redis_server server(server_with_a_log());
    run_acl_lines(server, acl_lines("redis-dialects.md", dialect));
    auto const url = url_of_user(dialect, server) + "?dialect=" + dialect + "&prefix=locks:";
    redis_ports one(url);
    expect_suffices_for_locks(one, "app:job");
    expect_no_word_about_rights(url);
    expect_is_what_doctor_asks(examine_redis(store_url::parse(url).value()));
    server.command({"SET", "theirs", "x"});
    expect_refuses_what_harms_others(url);
  }
}

TEST(redis_documented_rights, OfRedlockSuffice) {
  auto& nodes = redis_nodes::shared();
  nodes.reset();
  auto const all = acl_lines("redlock.md", "app");
  std::string hosts;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    run_acl_lines(nodes[i], all);
    hosts += (i == 0 ? "" : ",") + ("127.0.0.1:" + std::to_string(nodes[i].port()));
  }
  auto const url = "redlock://app:secret@" + hosts + "?restart_delay=0";
  {
    redis_ports one(url, open_redlock);
    expect_suffices_for_locks(one, "app:job");
  }
  expect_is_what_doctor_asks(examine_redlock(store_url::parse(url).value()));
  expect_refuses_what_harms_others(url_of_user("app", nodes[0]));
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].cli("ACL DELUSER app");
  nodes.reset();
}

TEST(RedisClusterDocumentedRights, Suffice) {
  auto& cluster = redis_cluster::shared();
  cluster.flush();
  auto url = std::string("redis+cluster://app:secret@");
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    run_acl_lines(cluster.node(i), acl_lines("redis.md", "app"));
    run_acl_lines(cluster.node(i), acl_lines("redis-cluster.md", "app"));
    url += (i == 0 ? "" : ",") + ("127.0.0.1:" + std::to_string(cluster.node(i).port()));
  }
  {
    cluster_ports one(url), two(url);
    expect_suffices_for_locks(one, "app:job");
    expect_suffices_for_a_hand_over(one, two, "app:line");
    expect_suffices_for_values(one);
  }
  expect_is_what_doctor_asks(examine_redis_cluster(store_url::parse(url).value()));
  for (std::size_t i = 0; i < cluster.size(); ++i) cluster.node(i).cli("ACL DELUSER app");
}

}  // namespace
}  // namespace herdlock_test
