// A program that plays scenes.
#pragma once

#include <span>

#include "stage/scene.hpp"

namespace herdlock::lab {

/// main() of it: the exit status.
int run_program(int argc, char** argv, std::span<listed_scene const> scenes);

}  // namespace herdlock::lab
