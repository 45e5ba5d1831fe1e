// `herdlock help options`: what store URLs may have behind their `?`, as the stores declare it.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace herdlock::cli {

struct url_options_arguments {
  std::string scheme;  ///< empty: all that are built
  bool json = false;
};

CLI::App* add_url_options_command(CLI::App& help, url_options_arguments& arguments);

/// Throws command_error (usage) for a scheme that it does not know.
int print_url_options(url_options_arguments const& asked);

}  // namespace herdlock::cli
