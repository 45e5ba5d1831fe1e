// Where a command's store is: said on the command line, in a file, or in the environment.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace herdlock::cli {

struct store_arguments {
  std::string url;   ///< --store
  std::string file;  ///< --store-file
};

/// Adds --store and --store-file.
void add_store_options(CLI::App& app, store_arguments& arguments);

/// Adds --store-file to a command with a --store of its own, which fills `into`: the URL in the
/// file is as if it had been typed there. Parsing throws command_error as store_url_of does.
void add_store_file_option(CLI::App& app, std::string& into);
/// The same where --store may be given again and again.
void add_store_files_option(CLI::App& app, std::vector<std::string>& into);

/// The first of --store, --store-file, HERDLOCK_STORE, the file that HERDLOCK_STORE_FILE names, the
/// default store. Throws command_error: usage for both options at once and for a file that holds
/// none, or a secret that everybody can read; unavailable for a file that cannot be read.
std::string store_url_of(store_arguments const& arguments);

}  // namespace herdlock::cli
