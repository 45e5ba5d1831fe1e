// The options of a scene: each is declared once, with its range, and checked as declared.
#pragma once

#include <CLI/App.hpp>
#include <concepts>
#include <cstdint>
#include <functional>
#include <herdlock/types.hpp>
#include <string>
#include <vector>

namespace herdlock::lab {

template <class T>
struct range {
  T least;
  T most;
};

/// A scene's members are filled when the command line is parsed; what they are before is the
/// default, and `--help` tells it. Nothing of the members is used before that.
class options {
 public:
  explicit options(CLI::App& app) : app_(app) {}

  /// `does` may have several lines. `type` is what --help has for the value.
  void number(std::string const& name, int& into, range<std::int64_t> allowed, char const* does,
              char const* type = "N");
  void number(std::string const& name, std::int64_t& into, range<std::int64_t> allowed,
              char const* does, char const* type = "N");
  void number(std::string const& name, std::uint64_t& into, range<std::int64_t> allowed,
              char const* does, char const* type = "N");
  void number(std::string const& name, double& into, range<double> allowed, char const* does,
              char const* type = "X");
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
  void check() const;

 private:
  template <class Number, class Range>
  void add_number(std::string const& name, Number& into, Range allowed, char const* does,
                  char const* type);

  CLI::App& app_;
  std::vector<std::function<void()>> checks_;
  std::vector<std::unique_ptr<std::string>> texts_;  // as typed, where that is not what is kept
};

}  // namespace herdlock::lab
