#include <pwd.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>
#include <support/child_process.hpp>
#include <support/tls_files.hpp>

namespace herdlock_test {
namespace {

using std::filesystem::path;

void openssl(path const& folder, std::vector<std::string> arguments) {
  child_options options;
  options.argv = {find_program("openssl", "openssl")};
  for (auto& argument : arguments) options.argv.push_back(std::move(argument));
  options.folder = folder;
  run_command(std::move(options));
}

void make_authority(path const& folder, std::string const& name) {
  openssl(folder,
          {"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
           "-days", "2", "-subj", "/CN=" + name, "-keyout", name + ".key", "-out", name + ".pem"});
}

void make_certificate(path const& folder, std::string const& name, std::string const& names) {
  std::ofstream(folder / (name + ".ext")) << "subjectAltName=" << names << "\n";
  openssl(folder, {"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                   "-subj", "/CN=" + name, "-keyout", name + ".key", "-out", name + ".csr"});
  openssl(folder,
          {"x509", "-req", "-in", name + ".csr", "-CA", "authority.pem", "-CAkey", "authority.key",
           "-CAcreateserial", "-days", "2", "-extfile", name + ".ext", "-out", name + ".pem"});
}

}  // namespace

tls_files make_tls_files(path const& folder) {
  make_authority(folder, "authority");
  make_authority(folder, "other-authority");
  make_certificate(folder, "server", "DNS:localhost,IP:127.0.0.1");
  make_certificate(folder, "wrong-name", "DNS:elsewhere.example");
  make_certificate(folder, "client", "DNS:client");
  return tls_files{folder / "authority.pem",  folder / "other-authority.pem",
                   folder / "server.pem",     folder / "server.key",
                   folder / "wrong-name.pem", folder / "wrong-name.key",
                   folder / "client.pem",     folder / "client.key"};
}

void give_tls_files_to(path const& folder, std::vector<std::string> const& users) {
  if (::geteuid() != 0) return;
  passwd* owner = nullptr;
  for (auto const& user : users) {
    if (!owner) owner = ::getpwnam(user.c_str());
  }
  if (!owner) throw std::runtime_error("none of the system users is there: " + users.front());
  std::filesystem::permissions(folder, std::filesystem::perms(0755));
  for (auto const& each : std::filesystem::directory_iterator(folder)) {
    if (::chown(each.path().c_str(), owner->pw_uid, owner->pw_gid) != 0) {
      throw std::runtime_error("cannot give away " + each.path().string());
    }
  }
}

}  // namespace herdlock_test
