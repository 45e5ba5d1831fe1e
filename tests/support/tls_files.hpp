// Certificates for a test server, made by the openssl command.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace herdlock_test {

/// An authority, a server certificate for localhost and 127.0.0.1, one for another host name, a
/// client certificate, and an authority that signed none of them.
struct tls_files {
  std::filesystem::path authority;
  std::filesystem::path other_authority;
  std::filesystem::path server_certificate, server_key;
  std::filesystem::path wrong_name_certificate, wrong_name_key;
  std::filesystem::path client_certificate, client_key;
};

tls_files make_tls_files(std::filesystem::path const& folder);

/// So that a server that runs as another user than root can read them: the first of these users
/// that there is owns them from then on. Nothing when this process is not root.
void give_tls_files_to(std::filesystem::path const& folder, std::vector<std::string> const& users);

}  // namespace herdlock_test
