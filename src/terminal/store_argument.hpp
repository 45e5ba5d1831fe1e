// Where a store is: said on the command line, in a file, or in the environment.
#pragma once

#include <CLI/App.hpp>
#include <filesystem>

namespace herdlock::cli {

struct store_arguments {
  std::string url;   ///< --store
  std::string file;  ///< --store-file
};

inline constexpr char const* about_store_file =
    "A file whose first line is the URL, for one with a password";

/// Adds --store and --store-file. `about` the first of them.
void add_store_options(CLI::App& app, store_arguments& arguments, std::string const& about);

/// Throws command_error: usage for a file that holds none, or a secret that everybody can read;
/// unavailable for a file that cannot be read.
std::string url_in_file(std::string const& file);

/// The first of --store, --store-file, HERDLOCK_STORE, the file that HERDLOCK_STORE_FILE names;
/// empty: there is none. Throws as url_in_file does.
std::string named_store(store_arguments const& arguments);

/// The `sqlite:` URL of a file, with what a URL gives a meaning to encoded.
std::string sqlite_url(std::filesystem::path const& file);

}  // namespace herdlock::cli
