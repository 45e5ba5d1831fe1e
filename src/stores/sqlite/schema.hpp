// The file and its tables.
#pragma once

#include <cstdint>
#include <herdlock/error.hpp>
#include <memory>
#include <string_view>

#include "stores/sqlite/connection.hpp"

namespace herdlock::sqlite {

/// 1 had other tables of leases, and kept each token in herdlock_store at once; 2 had one that
/// those who knew 1 would have gone on to use. Files of both are brought up to date when they are
/// opened: what is held and what is cached stays. The builds that made them refuse them then, and
/// acquire nothing where they have them open.
inline constexpr int schema_version = 3;

/// The name of a file system that several machines may have mounted, by statfs's `f_type`; null for
/// all others. Two machines that see the same file have two boot ids and two clocks, and each would
/// drop the other's leases; nor does SQLite's log work there. What is behind FUSE cannot be told.
char const* network_file_system(std::uint64_t type);

/// Makes the file (mode 0600) and its tables as far as they are missing, and drops what is left
/// from before the last boot. Fails when the file cannot be used, or was made by a newer version.
failure prepare_file(file_settings const& settings);

/// The tables of what caches tell each other, and of what the rule `keep` has done; they are not
/// there in a file where none has told or done anything. Inside a transaction that writes.
void make_exchange_tables(connection& db);
bool has_table(connection& db, std::string_view name);

/// A further connection to a prepared file.
result<std::unique_ptr<connection>> connect(file_settings const& settings);

}  // namespace herdlock::sqlite
