#include <algorithm>
#include <array>
#include <herdlock/examination.hpp>
#include <herdlock/lock.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "commands.hpp"
#include "common/chosen_store.hpp"
#include "common/json_text.hpp"
#include "terminal/duration.hpp"

namespace herdlock::cli {
namespace {

using json = nlohmann::ordered_json;

char const* word_of(severity weight) { return weight == severity::error ? "error" : "warning"; }

// Errors stand in front of warnings.
int status_of(examination const& seen) {
  if (seen.findings.empty()) return 0;
  return seen.findings.front().weight == severity::error ? 2 : 1;
}

std::string counted(std::size_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

void tell_programs(std::string const& store, examination const& seen) {
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
  print_json(told);
}

void tell_people(std::string const& store, examination const& seen) {
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

// ------------------------------------------------------------ what can be asked of every store

// A store may allow short ones only (quarantine_ttl, restart_delay): the longest that it takes.
constexpr std::array<milliseconds, 5> probe_ttls{std::chrono::seconds{30}, std::chrono::seconds{10},
                                                 std::chrono::seconds{3}, std::chrono::seconds{1},
                                                 milliseconds{200}};
// A renewal comes at a third of the ttl: with a ttl of 10 s, this is what may go wrong thrice.
constexpr milliseconds slow_round_trip{250};

milliseconds time_of_a_look(lock const& at) {
  std::array<clock::duration, 5> times{};
  for (auto& time : times) {
    auto const before = clock::now();
    static_cast<void>(at.inspect());
    time = clock::now() - before;
  }
  std::sort(times.begin(), times.end());
  return std::chrono::duration_cast<milliseconds>(times[times.size() / 2]);
}

acquire_options longest_allowed(lock const& at, acquired& first) {
  for (auto ttl = probe_ttls.begin();; ++ttl) {
    acquire_options const terms{.ttl = *ttl, .renew = renewal::none};
    try {
      first = at.try_acquire(terms);
      return terms;
    } catch (error const& e) {
      if (e.code() != errc::invalid_ttl || ttl + 1 == probe_ttls.end()) throw;
    }
  }
}

void exercise(lock const& at, examination& into) {
  acquired first;
  auto const terms = longest_allowed(at, first);
  if (!first) {
    return into.find({"store.grants", severity::error,
                      at.name().str() + ", which nobody else uses, is held",
                      "something grants or keeps leases beside herdlock", "see who writes there"});
  }
  auto const second = lock(at).try_acquire(terms);
  into.expect(!second, {"store.excludes", severity::error,
                        "a second holder got the lease that the first has", "locks exclude nobody",
                        "report it, with the store's version"});
  // Not by its token: what a look at independent nodes counts may be more than what was handed out.
  auto const seen = at.inspect();
  into.expect(
      seen && seen->holder == first->owner().label(),
      {"store.looks", severity::error, "who holds is not shown as it was granted",
       "show, wait and watch tell nothing of use", "name the master or leader, not a replica"});
  auto const token = first->fencing();
  bool const returned = first->release() == release_reply::released;
  auto next = at.try_acquire(terms);
  into.expect(returned && next.has_value(),
              {"store.releases", severity::error, "a released lease is not to be had again",
               "each holder blocks the next for its whole ttl", "see the store's log"});
  if (!next) return;
  if (at.where().traits().fences) {
    into.expect(
        next->fencing().value > token.value,
        {"store.fences", severity::error,
         fmt::format("the fencing token went from {} to {}", token.value, next->fencing().value),
         "what is guarded cannot tell a late holder from the present one",
         "see whether the store is written by something else"});
  }
  static_cast<void>(next->release());
}

// Takes, looks at and gives back a resource that nobody else uses.
void probe_store(std::string const& url, examination& into) {
  // Its own name each time, so that two doctors do not meet.
  std::string name = "herdlock-doctor/" + owner_token::generate().str();
  std::replace(name.begin(), name.end(), ':', '-');
  auto opened = try_open_store(url);
  if (!opened && exit_code_of(opened.error().code) == exit_code::usage) raise(opened.error());
  try {
    lock const at(std::move(opened).value(), name);
    exercise(at, into);
    auto const round_trip = time_of_a_look(at);
    into.expect(round_trip <= slow_round_trip,
                {"store.round_trip", severity::warning,
                 fmt::format("a round trip takes {}", say(round_trip)),
                 "renewals of leases with short ttls come late: they are lost without need",
                 "use a store that is nearer, or ttls of a minute and more"});
  } catch (error const& e) {
    into.find({"store.usable", severity::error, e.what(), "there is no lock to be had",
               "see the other findings, or put the URL right"});
  }
}

// -------------------------------------------------------------------------------- the command

struct doctor_arguments {
  store_arguments store;
  bool json = false;
};

int doctor(doctor_arguments const& given) {
  std::string const url = store_of(given.store).url;
  std::string const shown = value_or_raise(store_url::parse(url)).redacted();
  // First, since the store makes what the examination looks at.
  examination probed;
  probe_store(url, probed);
  auto seen = value_or_raise(examine_store(url));
  seen.findings.insert(seen.findings.end(), probed.findings.begin(), probed.findings.end());
  seen.passed.insert(seen.passed.end(), probed.passed.begin(), probed.passed.end());
  std::ranges::stable_sort(seen.findings, std::ranges::greater(), &finding::weight);
  if (given.json) {
    tell_programs(shown, seen);
  } else {
    tell_people(shown, seen);
  }
  return status_of(seen);
}

}  // namespace

runnable add_doctor_command(CLI::App& app) {
  auto const given = std::make_shared<doctor_arguments>();
  CLI::App& made =
      add_command(app, "doctor", "Look for what breaks locks in a store", "[--store URL] [OPTIONS]",
#include "doctor/doctor_help.txt"
      );
  add_store_options(made, given->store);
  made.add_flag("--json", given->json, "For programs");
  return {&made, [given] { return doctor(*given); }};
}

}  // namespace herdlock::cli
