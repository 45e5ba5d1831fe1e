#include "stores/redis/client/connection_check.hpp"

#include "stores/redis/client/membership.hpp"
#include "stores/redis/client/raw_command.hpp"
#include "stores/redis/client/server_errors.hpp"

namespace herdlock::redis {
namespace {

// Each of its own: Redis 6.2 takes one section at a time.
constexpr std::string_view sections[] = {"server", "replication", "memory", "persistence"};

bool evicts(server_facts const& server) {
  return server.policy.starts_with("allkeys-") || server.policy.starts_with("volatile-");
}

}  // namespace

connection_check::connection_check(settings const& how, std::shared_ptr<store_warnings> warnings)
    : how_(how), warnings_(std::move(warnings)) {}

void connection_check::ask(batch& into) const {
  redis::ask(into, {"TIME"});
  for (auto const section : sections) redis::ask(into, {"INFO", section});
  if (how_.members) redis::ask(into, {"CLUSTER", "SLOTS"});
}

verdict connection_check::verdict_on(std::span<reply const> answers, std::string const& address) {
  // Busy, loading: a passing error is not a missing right.
  for (auto const& one : answers) {
    if (!one.is_error()) continue;
    auto why = server_failure(one.text(), how_.display_name);
    if (why == errc::unavailable) return {std::move(why), failure_kind::temporary};
  }
  if (how_.members && !answers.empty()) {
    if (auto stranger = how_.members->check(answers.back(), address); stranger.code) {
      return {std::move(stranger), failure_kind::temporary};
    }
    answers = answers.first(answers.size() - 1);
  }
  read(answers, address);
  if (is_older_than(facts_, 6, 2)) {
    return {how_.failed(errc::not_supported, "the server at " + address + " is Redis " +
                                                 facts_.version +
                                                 "; herdlock needs Redis 6.2 or newer"),
            failure_kind::refused};
  }
  if (auto no = misdirected(address); no.why.code) return no;
  warn_of_weaknesses(address);
  return {};
}

void connection_check::read(std::span<reply const> answers, std::string const& address) {
  facts_ = {};
  for (auto const& one : answers) {
    if (one.is_error()) {
      warn("the server at " + address + " does not let us look at it (it says " +
           in_quotes(one.text()) +
           "), so nobody can tell whether it is a master, evicts leases or has a lagging fencing "
           "counter; permit INFO and TIME in the user's ACL" +
           (how_.speaks == dialect::herdlock
                ? " (without TIME no lease is granted of what has no fencing counter yet)"
                : ""));
    } else if (auto const time = read_time(one)) {
      facts_.time_us = time;
    } else {
      read_info(facts_, one.text());
    }
  }
}

verdict connection_check::misdirected(std::string const& address) const {
  if (facts_.mode == "sentinel") {
    return {how_.failed(errc::not_supported,
                        "the server at " + address +
                            " is a Sentinel; write redis+sentinel://host:port/mastername"),
            failure_kind::refused};
  }
  // Its own master may be found behind the same name a moment later.
  if (facts_.role != "slave" || how_.part == server_part::cluster_node) return {};
  return {how_.failed(errc::unavailable, "the server at " + address +
                                             " is a read-only replica; connect to the master, or "
                                             "through redis+sentinel://"),
          failure_kind::temporary};
}

void connection_check::warn_of_weaknesses(std::string const& address) {
  if (evicts(facts_)) {
    warn("the server at " + address + " has maxmemory-policy " + facts_.policy +
         ": when memory runs short it throws leases and claims away: another is granted what is "
         "held, "
         "and a key is loaded by several at once; set noeviction");
  }
  // A master that comes back empty empties its replicas.
  bool const forgets = facts_.append_only == "0" && how_.durable.quarantine == milliseconds{0};
  bool const replicated = !how_.master_name.empty() || how_.durable.replicas > 0;
  if (replicated && forgets) {
    warn("the server at " + address +
         " has no append-only file: if it restarts before its replicas take over, all of them "
         "forget the leases that are held; set appendonly yes, or quarantine=on in the store URL");
  }
  if (facts_.replicas && *facts_.replicas < how_.durable.replicas) {
    warn("the server at " + address + " has " + std::to_string(*facts_.replicas) +
         " replicas, but wait_replicas is " + std::to_string(how_.durable.replicas) +
         ": nothing is granted until more are connected");
  }
}

void connection_check::warn(std::string const& text) {
  if (warnings_) warnings_->add(how_.display_name + ": " + text);
}

}  // namespace herdlock::redis
