// `herdlock hot add`, `remove`, `list`: what people say of keys in advance.
#pragma once

#include <vector>

#include "common/chosen_store.hpp"
#include "terminal/command_line.hpp"

namespace herdlock::cli {

/// Adds them below `hot`, whose --store is also theirs: it fills `where`, which has to be there
/// when they run.
std::vector<runnable> add_rule_commands(CLI::App& hot, store_arguments& where);

}  // namespace herdlock::cli
