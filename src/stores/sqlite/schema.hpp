// The file and its tables.
#pragma once

#include <herdlock/error.hpp>

#include "stores/sqlite/connection.hpp"

namespace herdlock::sqlite {

inline constexpr int schema_version = 1;

/// Makes the file (mode 0600) and its tables as far as they are missing, and drops what is left
/// from before the last boot. Fails when the file cannot be used, or was made by a newer version.
failure prepare_file(file_settings const& settings);

/// A further connection to a prepared file.
result<std::unique_ptr<connection>> connect(file_settings const& settings);

}  // namespace herdlock::sqlite
