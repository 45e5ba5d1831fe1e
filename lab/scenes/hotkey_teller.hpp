// What `herdlock demo hotkey` shows when both runs are over.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenes/hotkey_board.hpp"
#include "scenes/hotkey_figures.hpp"
#include "scenes/hotkey_options.hpp"

namespace herdlock::cli {

struct hotkey_store {
  std::string shown;  ///< its URL without the password
  hotkey_keeping keeping{};
};

class hotkey_report {
 public:
  /// All outlive it but for `where`.
  hotkey_report(hotkey_options const& options, hotkey_store where, hotkey_board const& without,
                hotkey_board const& with);

  /// As a table or as JSON. Throws command_error (internal) when nobody takes it.
  void print() const;
  /// As an SVG document.
  std::string picture() const;
  bool all_came_about() const { return shortcomings_.empty(); }

 private:
  void print_timeline() const;
  std::string where_kept() const;
  void print_moments() const;
  void print_load() const;
  void print_rest() const;
  nlohmann::ordered_json json() const;

  hotkey_options const& options_;
  hotkey_store const where_;
  hotkey_board const& without_;
  hotkey_board const& with_;
  hotkey_figures const seen_without_;
  hotkey_figures const seen_with_;
  std::vector<std::string> const shortcomings_;
};

/// One run in the picture.
struct hotkey_panel {
  char const* head;
  hotkey_board const& board;
  hotkey_figures const& seen;
};
std::string render_hotkey_plot(hotkey_options const& options, std::string const& store,
                               std::vector<hotkey_panel> const& panels);

}  // namespace herdlock::cli
