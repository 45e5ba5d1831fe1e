#include "doctor/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <herdlock/examination.hpp>
#include <herdlock/url.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "terminal/exit_code.hpp"
#include "common/json_text.hpp"
#include "terminal/usage_line.hpp"
#include "doctor/probe.hpp"

namespace herdlock::cli {
namespace {

using json = nlohmann::ordered_json;

constexpr char const* doctor_footer = R"(
Looks at the server behind the URL for what breaks locks, takes and gives back a
lease under a name of its own, and tells for each finding what is, what follows
from it, and what to do. Nothing stays behind but, where the store keeps them, an
empty table or the fencing counter of that name.

  every store  grants, excludes, looks, releases, fences; round trip
  redis        reachable, version, role (replica), eviction, persistence,
               replicas in step, wait_replicas, clock, rights (ACL)
  sentinel     quorum       cluster   nodes, state
  redlock      nodes, distinct servers, odd number, restart_delay
  mysql        reachable, read-only, Galera, durability, timeouts, clock, rights
  postgres     reachable, standby, read-only, pooler, proxy, synchronous_commit,
               fsync, idle timeouts, clock, rights, schema
  sqlite       folder, file, network file system, journal
  zookeeper    reachable, session timeout, servers, read-only, connections
  etcd         members, leader, health, learner, alarms, least ttl, rights
  memory       scope

--json prints {store, healthy, findings: [{check, severity, found, consequence,
fix}], passed, skipped, notes}. A check that could not be made is in `skipped`, with the
reason.

Exit status:
  0    no finding
  1    warnings: a promise is weaker than it could be
  2    errors: locks fail, or do not exclude
  64   usage: a bad URL or option)";

constexpr int exit_warnings = 1;
constexpr int exit_errors = 2;

char const* word_of(severity weight) { return weight == severity::error ? "error" : "warning"; }

int status_of(examination const& seen) {
  int status = 0;
  for (auto const& one : seen.findings) {
    status = std::max(status, one.weight == severity::error ? exit_errors : exit_warnings);
  }
  return status;
}

std::string counted(std::size_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

void print_json(std::string const& store, examination const& seen) {
  json told{{"store", store}, {"healthy", seen.findings.empty()}, {"findings", json::array()}};
  for (auto const& one : seen.findings) {
    told["findings"].push_back({{"check", one.check},
                                {"severity", word_of(one.weight)},
                                {"found", one.found},
                                {"consequence", one.consequence},
                                {"fix", one.fix}});
  }
  told["passed"] = std::set(seen.passed.begin(), seen.passed.end());
  told["skipped"] = seen.skipped;
  told["notes"] = seen.notes;
  fmt::print("{}\n", json_text(told, json_form::indented));
}

void print_text(std::string const& store, examination const& seen) {
  fmt::print("{}\n", store);
  for (auto const& one : seen.notes) fmt::print("{}\n", one);
  for (auto const& one : seen.findings) {
    fmt::print("\n{}: {}\n  found        {}\n  consequence  {}\n  fix          {}\n",
               word_of(one.weight), one.check, one.found, one.consequence, one.fix);
  }
  if (!seen.findings.empty()) fmt::print("\n");
  for (auto const& one : seen.skipped) fmt::print("not checked: {}\n", one);
  std::set const passed(seen.passed.begin(), seen.passed.end());
  fmt::print("{}, {} passed\n", counted(seen.findings.size(), "finding"),
             counted(passed.size(), "check"));
}

int doctor(doctor_arguments const& given) {
  std::string const url = store_url_of(given.store);
  std::string const shown = value_or_raise(store_url::parse(url)).redacted();
  // First, since the store makes what the examination looks at.
  examination seen;
  probe_store(url, seen);
  auto const looked = value_or_raise(examine_store(url));
  seen.findings.insert(seen.findings.begin(), looked.findings.begin(), looked.findings.end());
  seen.passed.insert(seen.passed.end(), looked.passed.begin(), looked.passed.end());
  seen.skipped.insert(seen.skipped.end(), looked.skipped.begin(), looked.skipped.end());
  seen.notes = looked.notes;
  auto const lighter = [](finding const& a, finding const& b) { return a.weight > b.weight; };
  std::stable_sort(seen.findings.begin(), seen.findings.end(), lighter);
  if (given.json) {
    print_json(shown, seen);
  } else {
    print_text(shown, seen);
  }
  return status_of(seen);
}

}  // namespace

runnable add_doctor_command(CLI::App& app, doctor_arguments& arguments) {
  CLI::App* const made = app.add_subcommand("doctor", "Look for what breaks locks in a store");
  usage_line::set(*made, "herdlock doctor [--store URL] [OPTIONS]");
  add_store_options(*made, arguments.store);
  made->add_flag("--json", arguments.json, "For programs");
  made->footer(doctor_footer);
  return {made, [&arguments] { return doctor(arguments); }};
}

}  // namespace herdlock::cli
