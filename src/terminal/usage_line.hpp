// CLI11's help with a usage line of our own.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <string>

namespace herdlock::cli {

class usage_line : public CLI::Formatter {
 public:
  explicit usage_line(std::string line) : line_(std::move(line)) { column_width(26); }

  std::string make_usage(CLI::App const*, std::string) const override {
    return "Usage: " + line_ + "\n";
  }

  static void set(CLI::App& app, std::string line) {
    app.formatter(std::make_shared<usage_line>(std::move(line)));
  }

 private:
  std::string line_;
};

}  // namespace herdlock::cli
