// Servers that do not run as root, or should not.
#pragma once

#include <filesystem>
#include <string>

namespace herdlock_test {

/// The user that a server's own package makes, or, where only its programs are installed, one
/// without rights: `nobody`.
std::string server_user(std::string const& made_by_its_package);

/// When this is root; does nothing otherwise. Throws std::runtime_error when there is no such user.
void give_to(std::string const& user, std::filesystem::path const& folder);

}  // namespace herdlock_test
