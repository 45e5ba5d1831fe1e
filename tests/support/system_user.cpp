#include <pwd.h>
#include <unistd.h>

#include <stdexcept>
#include <support/system_user.hpp>

namespace herdlock_test {

std::string server_user(std::string const& made_by_its_package) {
  return ::getpwnam(made_by_its_package.c_str()) ? made_by_its_package : "nobody";
}

void give_to(std::string const& user, std::filesystem::path const& folder) {
  if (::geteuid() != 0) return;
  passwd const* const found = ::getpwnam(user.c_str());
  if (!found) throw std::runtime_error("no system user '" + user + "' to run a server as");
  if (::chown(folder.c_str(), found->pw_uid, found->pw_gid) != 0) {
    throw std::runtime_error("cannot give " + folder.string() + " to " + user);
  }
}

}  // namespace herdlock_test
