// `herdlock bench stores`: what a lock costs on each of some stores, measured side by side.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "scenes/store_figures.hpp"

namespace herdlock::cli {

struct stores_options {
  std::vector<std::string> urls;
  int rounds = 3;
  bool json = false;
  std::string plot;  ///< a file for the picture; empty: none
};

CLI::App* add_stores_command(CLI::App& bench, stores_options& arguments);

/// Throws command_error (usage) naming what is wrong.
void check(stores_options const& options);

/// Returns the exit status: that of an unavailable store when one could not be measured.
int bench_stores(stores_options const& options);

/// The figures as an SVG, a row of bars for each store.
std::string render_stores_plot(std::vector<store_figures> const& all);

}  // namespace herdlock::cli
