// Where a command's store is: said on the command line, in a file, or in the environment.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace herdlock::cli {

struct store_arguments {
  std::string url;   ///< --store
  std::string file;  ///< --store-file
};

/// Adds --store and --store-file.
void add_store_options(CLI::App& app, store_arguments& arguments);

/// The first of --store, --store-file, HERDLOCK_STORE, the file that HERDLOCK_STORE_FILE names, the
/// default store. Throws command_error: usage for both options at once and for a file that holds
/// none, or a secret that everybody can read; unavailable for a file that cannot be read.
std::string store_url_of(store_arguments const& arguments);

}  // namespace herdlock::cli
