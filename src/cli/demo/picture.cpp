#include "demo/picture.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "common/exit_code.hpp"

namespace herdlock::cli {

void check_picture(std::filesystem::path const& file) {
  if (file.empty()) return;
  auto const folder = file.parent_path();
  bool const fine = ::access(folder.empty() ? "." : folder.c_str(), W_OK) == 0 &&
                    !std::filesystem::is_directory(file);
  if (!fine) {
    throw command_error(exit_code::usage,
                        fmt::format("--plot {}: cannot be written there", file.string()));
  }
}

void write_picture(std::filesystem::path const& file, std::string const& svg) {
  std::ofstream out(file);
  out << svg;
  out.flush();
  if (!out) {
    throw command_error(exit_code::unavailable,
                        fmt::format("--plot {}: could not be written", file.string()));
  }
}

double tick_step(double span) {
  double const rough = span / 5;
  double const power = std::pow(10.0, std::floor(std::log10(rough)));
  for (double const factor : {1.0, 2.0, 5.0}) {
    if (power * factor >= rough) return power * factor;
  }
  return power * 10;
}

}  // namespace herdlock::cli
