// `herdlock demo hotkey`: what was asked for, checked.
#pragma once

#include <CLI/App.hpp>
#include <cstddef>
#include <filesystem>
#include <herdlock/types.hpp>
#include <string>

namespace herdlock::cli {

/// Bounds of the demo.
namespace hotkey_limits {
inline constexpr int max_processes = 32;
inline constexpr int max_keys = 100'000;
inline constexpr int max_rate = 1'000'000;
inline constexpr milliseconds min_time{2'000};
inline constexpr milliseconds max_time{120'000};
}  // namespace hotkey_limits

/// As typed.
struct hotkey_arguments {
  std::string store;
  int processes = 10;
  int rate = 20'000;
  int keys = 10'000;
  int threshold = 1'000;
  std::string time = "10s";
  bool json = false;
  std::string plot;
};

/// As meant. A run has a hundred slices of time: in the first fifth nobody asks for the key, in the
/// next two all do, and in the rest nobody does.
struct hotkey_options {
  static constexpr std::size_t slices = 100;
  static constexpr std::size_t first_loaded = slices / 5;
  static constexpr std::size_t behind_loaded = slices * 3 / 5;
  static constexpr double zipf_exponent = 0.99;

  std::string store_url;  ///< empty: a temporary file
  std::size_t processes = 0;
  double rate = 0;       ///< requests a second for the key, of all processes
  std::size_t keys = 0;  ///< that are asked for beside it
  double threshold = 0;  ///< reads a second from which a key is hot in a process
  milliseconds time{};   ///< of one run
  bool json = false;
  std::filesystem::path plot;  ///< empty: none

  milliseconds slice() const { return time / slices; }
  milliseconds load_from() const { return slice() * first_loaded; }
  milliseconds load_to() const { return slice() * behind_loaded; }
  /// In which keys are counted: how long they are hot behind their last requests.
  milliseconds window() const { return time * 3 / 20; }
  double fleet_threshold() const { return 10 * threshold; }
  double rate_of_each() const { return rate / static_cast<double>(processes); }
  /// Requests a second for the other keys, of all processes, all the time.
  double rate_of_others() const { return rate / 10; }
};

CLI::App* add_hotkey_command(CLI::App& demo, hotkey_arguments& arguments);

/// Throws command_error (usage) naming the argument that is wrong.
hotkey_options check(hotkey_arguments const& arguments);

/// Throws command_error (usage) when no process would find the key by its own counts. To be called
/// for a store over which processes do not tell each other.
void require_hot_in_each(hotkey_options const& options);

}  // namespace herdlock::cli
