// What `run` and `elect` have in common: a command under a lease, and how long it has to stop.
#pragma once

#include "common/chosen_store.hpp"
#include "common/event_log.hpp"

namespace herdlock::cli {

/// As typed.
struct work_arguments {
  CLI::App const* app = nullptr;
  std::string name;
  store_arguments store;
  std::string ttl = "30s";
  std::string stop_grace;
  bool verbose = false;
  bool json = false;
  std::vector<std::string> command;  ///< what stands behind `--`: not CLI11's business
};

struct stopping_times {
  milliseconds stop_grace;  ///< from SIGTERM to SIGKILL
  milliseconds notice;      ///< how long before the end of the lease: its loss_margin
};

/// As meant.
struct work_options {
  resource name;
  chosen_store where;
  milliseconds ttl;
  std::optional<milliseconds> stop_grace;
  event_form log;
  std::vector<std::string> command;

  /// For leases of this store, which may prove them for less than the ttl. The stop grace that is
  /// not given is a quarter of what is proved, at most 10 s. Throws command_error (usage) for one
  /// that is too long for it.
  stopping_times stopping_in(store const& in) const;
};

/// What --help says of those that mean something else to each command.
struct work_words {
  char const* name;
  char const* ttl;
  char const* verbose;
};

void add_work_options(CLI::App& app, work_arguments& into, work_words const& about);

/// Throws command_error (usage) naming the argument that is wrong.
work_options checked(work_arguments const& given);

}  // namespace herdlock::cli
