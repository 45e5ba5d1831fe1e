// The text exposition format, https://prometheus.io/docs/instrumenting/exposition_formats/.
#include <array>
#include <charconv>
#include <map>
#include <numeric>

#include <herdlock/metrics.hpp>

namespace herdlock {
inline namespace v0 {
namespace {

struct number {
  char const* name;
  char const* type;
  char const* help;
  std::uint64_t store_metrics::*value;
};

constexpr number numbers[] = {
    {"herdlock_acquired_total", "counter", "Grants.", &store_metrics::acquired},
    {"herdlock_acquired_from_another_total", "counter",
     "Grants for which another's end was waited for.", &store_metrics::acquired_from_another},
    {"herdlock_busy_total", "counter", "Acquisitions that ended because another held it.",
     &store_metrics::busy},
    {"herdlock_acquire_failed_total", "counter", "Acquisitions that the store could not answer.",
     &store_metrics::failed},
    {"herdlock_acquire_canceled_total", "counter", "Acquisitions that the caller took back.",
     &store_metrics::canceled},
    {"herdlock_renewed_total", "counter", "Renewals.", &store_metrics::renewed},
    {"herdlock_renew_failed_total", "counter", "Renewals without an answer.",
     &store_metrics::renew_failed},
    {"herdlock_lost_total", "counter", "Leases that could not be proved any more.",
     &store_metrics::lost},
    {"herdlock_released_total", "counter", "Leases that were given back in time.",
     &store_metrics::released},
    {"herdlock_held", "gauge", "Leases held now.", &store_metrics::held},
    {"herdlock_waiting", "gauge", "Acquisitions that ask or wait now.", &store_metrics::waiting},
};

struct cache_number {
  char const* name;
  char const* help;
  std::uint64_t cache_stats::*value;
  char const* type = "counter";
};

constexpr cache_number cache_numbers[] = {
    {"herdlock_cache_hits_total", "Callers answered by the first read.", &cache_stats::hits},
    {"herdlock_cache_negative_hits_total", "Callers answered by a negative entry.",
     &cache_stats::negative_hits},
    {"herdlock_cache_stale_hits_total", "Of both: callers answered by a stale entry.",
     &cache_stats::stale_hits},
    {"herdlock_cache_misses_total", "Callers for whom there was no entry.", &cache_stats::misses},
    {"herdlock_cache_loads_now_total", "Calls of load_now.", &cache_stats::loads_now},
    {"herdlock_cache_joined_total", "Misses that waited for a load of another caller here.",
     &cache_stats::joined},
    {"herdlock_cache_loads_total", "Loaders run.", &cache_stats::loads},
    {"herdlock_cache_unguarded_loads_total", "Loaders run without the store.",
     &cache_stats::unguarded_loads},
    {"herdlock_cache_load_errors_total", "Loaders that failed.", &cache_stats::load_errors},
    {"herdlock_cache_shared_errors_total", "Errors of another's load that answered a load here.",
     &cache_stats::shared_errors},
    {"herdlock_cache_refreshes_total", "Loads behind an answer that were asked for.",
     &cache_stats::refreshes},
    {"herdlock_cache_refused_refreshes_total", "Of these, not begun: another was at it.",
     &cache_stats::refused_refreshes},
    {"herdlock_cache_soft_timeouts_total", "Misses that soft_timeout gave the stale entry.",
     &cache_stats::soft_timeouts},
    {"herdlock_cache_stale_after_error_total", "Misses that had a stale entry, not an error.",
     &cache_stats::stale_after_error},
    {"herdlock_cache_superseded_total", "Loaded values that something newer beat.",
     &cache_stats::superseded},
    {"herdlock_cache_unstorable_total",
     "Loaded values that could not be, or were not to be, stored.", &cache_stats::unstorable},
    {"herdlock_cache_not_modified_total", "Loads that kept the value that was there.",
     &cache_stats::not_modified},
    {"herdlock_cache_undecodable_total", "Stored entries that could not be read.",
     &cache_stats::undecodable},
    {"herdlock_cache_ended_by_tags_total", "Stored entries that were read, and a tag had ended.",
     &cache_stats::ended_by_tags},
    {"herdlock_cache_store_errors_total", "Operations of the store that failed.",
     &cache_stats::store_errors},
    {"herdlock_cache_overloaded_total", "Callers turned away.", &cache_stats::overloaded},
    {"herdlock_cache_timed_out_total", "Callers whose deadline passed.", &cache_stats::timed_out},
    {"herdlock_cache_canceled_total", "Callers who cancelled, or whose cache went.",
     &cache_stats::canceled},
    {"herdlock_cache_events_dropped_total", "Events for which the observer had no room.",
     &cache_stats::events_dropped},
    {"herdlock_cache_lasting_entries", "Lasting entries that were stored here.",
     &cache_stats::lasting_entries, "gauge"},
    {"herdlock_cache_lasting_bytes", "Bytes of their values.", &cache_stats::lasting_bytes,
     "gauge"},
    {"herdlock_cache_near_hits_total", "Callers answered by what the process keeps.",
     &cache_stats::near_hits},
    {"herdlock_cache_near_inserts_total", "Entries that were read and kept.",
     &cache_stats::near_inserts},
    {"herdlock_cache_near_refused_total",
     "Entries that changed before they could be kept, or were too large.",
     &cache_stats::near_refused},
    {"herdlock_cache_near_evicted_total", "Kept entries that made room.",
     &cache_stats::near_evicted},
    {"herdlock_cache_near_invalidations_total", "Kept entries that somebody changed.",
     &cache_stats::near_invalidations},
    {"herdlock_cache_near_ended_by_tags_total", "Kept entries that went with a tag's record.",
     &cache_stats::near_ended_by_tags},
    {"herdlock_cache_near_unchanged_total", "Of the changed ones: read again as they had been.",
     &cache_stats::near_unchanged},
    {"herdlock_cache_near_fences_total", "Fences asked for.", &cache_stats::near_fences},
    {"herdlock_cache_near_server_evictions_total",
     "Keys of all kinds that servers evicted, from when something was kept on.",
     &cache_stats::near_server_evictions},
    {"herdlock_cache_near_entries", "Entries that the process keeps.", &cache_stats::near_entries,
     "gauge"},
    {"herdlock_cache_near_bytes", "Bytes of them.", &cache_stats::near_bytes, "gauge"},
    {"herdlock_cache_near_links_refused",
     "Connections whose server pushes no changes, for each cache.",
     &cache_stats::near_links_refused, "gauge"},
    {"herdlock_cache_near_proof_age_milliseconds",
     "Since the connection that was proved longest ago was: after max_staleness it serves nothing.",
     &cache_stats::near_proof_age_ms, "gauge"},
    {"herdlock_cache_became_hot_total", "Keys that became hot in this process.",
     &cache_stats::became_hot},
    {"herdlock_cache_cooled_total", "Of these, cooled.", &cache_stats::cooled},
    {"herdlock_cache_hot", "Keys that are hot in this process.", &cache_stats::hot, "gauge"},
    {"herdlock_cache_fleet_hot", "Keys that are hot for all processes.", &cache_stats::fleet_hot,
     "gauge"},
    {"herdlock_cache_fleet_reports_total", "Reports of hot keys to other processes.",
     &cache_stats::fleet_reports},
    {"herdlock_cache_fleet_report_errors_total", "Of these, the store did not take.",
     &cache_stats::fleet_report_errors},
    {"herdlock_cache_fleet_reports_refused_total", "Reports of others that cannot be right.",
     &cache_stats::fleet_reports_refused},
};

struct durations {
  char const* name;
  char const* help;
  duration_histogram store_metrics::*value;
};

constexpr durations histograms[] = {
    {"herdlock_wait_seconds", "From the call to the grant.", &store_metrics::wait_time},
    {"herdlock_hold_seconds", "From the grant to the end of the lease.", &store_metrics::hold_time},
    {"herdlock_cache_load_seconds", "From a loader's start to its end.", &store_metrics::load_time},
};

std::string escaped(std::string const& text) {
  std::string out;
  for (char const c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

// Not by a stream or printf: a locale would write a comma.
std::string written(double value) {
  std::array<char, 32> digits{};
  auto const end =
      std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed)
          .ptr;
  return {digits.data(), end};
}

void head(std::string& text, std::string const& name, char const* help, char const* type) {
  text += "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}

void add_line(std::string& text, char const* name, store_metrics const& of, std::uint64_t value) {
  text +=
      std::string(name) + "{store=\"" + escaped(of.store) + "\"} " + std::to_string(value) + "\n";
}

void add_histogram(std::string& text, durations const& what, store_metrics const& of) {
  std::string const name = what.name;
  std::string const label = "store=\"" + escaped(of.store) + "\"";
  auto const& values = of.*what.value;
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < values.counts.size(); ++i) {
    so_far += values.counts.at(i);
    bool const last = i == duration_histogram::bounds.size();
    auto const bound = last ? std::string("+Inf") : written(duration_histogram::bounds.at(i));
    text += name + "_bucket{" + label + ",le=\"" + bound + "\"} " + std::to_string(so_far) + "\n";
  }
  text += name + "_sum{" + label + "} " + written(values.sum_seconds) + "\n";
  text += name + "_count{" + label + "} " + std::to_string(so_far) + "\n";
}

// A monitoring system takes two lines of one name and label for one, and drops the second. The
// second store of a URL is "URL #2", in the order in which they are given.
std::vector<store_metrics> told_apart(std::vector<store_metrics> all) {
  std::map<std::string, int> seen;
  for (auto& each : all) {
    int const number = ++seen[each.store];
    if (number > 1) each.store += " #" + std::to_string(number);
  }
  return all;
}

}  // namespace

std::uint64_t duration_histogram::count() const noexcept {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::string prometheus_text(std::vector<store_metrics> const& given) {
  auto const all = told_apart(given);
  std::string text;
  for (auto const& what : numbers) {
    head(text, what.name, what.help, what.type);
    for (auto const& each : all) add_line(text, what.name, each, each.*what.value);
  }
  for (auto const& what : cache_numbers) {
    head(text, what.name, what.help, what.type);
    for (auto const& each : all) add_line(text, what.name, each, each.caches.*what.value);
  }
  for (auto const& what : histograms) {
    head(text, what.name, what.help, "histogram");
    for (auto const& each : all) add_histogram(text, what, each);
  }
  return text;
}

}  // namespace v0
}  // namespace herdlock
