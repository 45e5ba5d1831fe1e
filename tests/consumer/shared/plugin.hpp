// What a program and its plug-in tell each other in herdlock's types.
#pragma once

#include <herdlock/error.hpp>

[[gnu::visibility("default")]] void throw_busy();
[[gnu::visibility("default")]] bool catches(void (*thrower)());
[[gnu::visibility("default")]] std::error_category const& category_of_plugin();
