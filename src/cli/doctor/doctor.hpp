// `herdlock doctor`: what is wrong with a store for locks.
#pragma once

#include <CLI/App.hpp>

#include "look/commands.hpp"

namespace herdlock::cli {

struct doctor_arguments {
  store_arguments store;
  bool json = false;
};

runnable add_doctor_command(CLI::App& app, doctor_arguments& arguments);

}  // namespace herdlock::cli
