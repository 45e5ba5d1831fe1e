// The options of a scene: each is declared once, with its range, and checked as declared.
#pragma once

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <functional>
#include <herdlock/types.hpp>

#include "terminal/exit_code.hpp"

namespace herdlock::lab {

template <class T>
struct range {
  T least;
  T most;
};

/// What a number's range is told in.
template <class Number>
using wide = std::conditional_t<std::is_floating_point_v<Number>, double, std::int64_t>;

/// A scene's members are filled when the command line is parsed; what they are before is the
/// default, and `--help` tells it. Nothing of the members is used before that.
class options {
 public:
  explicit options(CLI::App& app) : app_(app) {}

  /// `does` may have several lines. `type` is what --help has for the value.
  template <class Number>
  void number(std::string const& name, Number& into, range<wide<Number>> allowed, char const* does,
              char const* type = std::is_floating_point_v<Number> ? "X" : "N") {
    app_.add_option(name, into, does)->type_name(type)->capture_default_str();
    checks_.push_back([name, &into, allowed] {
      auto const is = static_cast<wide<Number>>(into);
      if (is >= allowed.least && is <= allowed.most) return;
      throw cli::command_error(
          cli::exit_code::usage,
          fmt::format("{} {}: must be between {} and {}", name, into, allowed.least, allowed.most));
    });
  }
  /// As `500ms`, `30s`. A default below 0 is none: `does` tells what happens then, and the member
  /// stays as it is.
  void time(std::string const& name, milliseconds& into, range<milliseconds> allowed,
            char const* does);
  void choice(std::string const& name, std::string& into, std::vector<std::string> allowed,
              char const* does);
  void text(std::string const& name, std::string& into, char const* does, char const* type);
  void flag(std::string const& name, bool& into, char const* does);

  /// --store, --store-file, HERDLOCK_STORE and HERDLOCK_STORE_FILE. Empty: none was named.
  void store(std::string& url, char const* does);
  /// --store and --store-file, again and again.
  void stores(std::vector<std::string>& urls, char const* does);

  CLI::App& app() { return app_; }

  /// Behind the parsing. Throws command_error (usage) for the first option out of its range.
  void check() const {
    for (auto const& each : checks_) each();
  }

 private:
  CLI::App& app_;
  std::vector<std::function<void()>> checks_;
};

}  // namespace herdlock::lab
