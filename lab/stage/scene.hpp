// A scene: something that is shown, tried for long, or measured, with real processes.
#pragma once

#include <span>

#include "stage/options.hpp"
#include "stage/stage.hpp"

namespace herdlock::lab {

class scene {
 public:
  virtual ~scene() = default;

  virtual void declare(options& all) = 0;
  /// What the options have to do with each other, once each of them is in its range. Throws
  /// command_error (usage). Nothing has been started yet.
  virtual void check() {}
  virtual void play(stage& on) = 0;
};

/// As it is listed: `herdlock-lab NAME`.
struct listed_scene {
  char const* name;
  char const* does;  ///< one line
  char const* help;  ///< what --help has below the options: what it does, exit status, examples
  bool draws;        ///< it has --plot
  std::unique_ptr<scene> (*make)();
};

template <class Scene>
std::unique_ptr<scene> made() {
  return std::make_unique<Scene>();
}

/// main() of a program that plays them: the exit status.
int run_program(int argc, char** argv, std::span<listed_scene const> scenes);

}  // namespace herdlock::lab
