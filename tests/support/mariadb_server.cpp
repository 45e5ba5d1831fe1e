#include <unistd.h>

#include <stdexcept>
#include <support/free_port.hpp>
#include <support/mariadb_server.hpp>
#include <support/system_user.hpp>

namespace herdlock_test {
namespace {

// As root the server wants another user. The package mariadb-server makes `mysql`, but the tests
// need mariadb-server-core alone, and any user without rights will do.
std::string mariadb_user() { return server_user("mysql"); }

bool as_root() { return ::geteuid() == 0; }

std::vector<std::string> with_user(std::vector<std::string> argv) {
  if (as_root()) argv.push_back("--user=" + mariadb_user());
  return argv;
}

}  // namespace

mariadb_server::mariadb_server(std::vector<std::string> options) : options_(std::move(options)) {
  give_to(mariadb_user(), folder_.path());
  child_options install;
  install.syncs = disk_syncs::skipped;
  install.argv =
      with_user({find_program("mariadb-install-db", "mariadb-server"), "--no-defaults",
                 "--datadir=" + folder_.path().string(), "--tmpdir=" + folder_.path().string(),
                 "--auth-root-authentication-method=normal", "--skip-test-db"});
  run_command(std::move(install));
  for (int i = 0; i < start_attempts; ++i) {
    port_ = ports_.add();
    start();
    if (eventually([&] { return !child_->running() || answers(); }) && child_->running()) return;
  }
  throw std::runtime_error("mariadbd does not start:\n" + child_->output() + child_->errors());
}

mariadb_server& mariadb_server::shared() {
  static mariadb_server server;
  return server;
}

void mariadb_server::start() {
  child_.reset();
  std::string const folder = folder_.path().string();
  child_options how;
  how.argv = {find_program("mariadbd", "mariadb-server"),
              "--no-defaults",
              "--datadir=" + folder,
              "--tmpdir=" + folder,  // a server that starts removes the temporary tables there
              "--socket=" + folder + "/m.sock",
              "--pid-file=" + folder + "/m.pid",
              "--bind-address=127.0.0.1",
              "--port=" + std::to_string(port_),
              "--innodb-flush-log-at-trx-commit=2"};
  how.syncs = disk_syncs::skipped;
  how.argv.insert(how.argv.end(), options_.begin(), options_.end());
  // Not its own --user: changing the user there would undo "killed with the test".
  how.user = mariadb_user();
  how.folder = "/";
  child_.emplace(std::move(how));
}

// Another test's server may have taken the port since it was found free.
bool mariadb_server::answers() const {
  try {
    return listens(port_) && sql("SELECT @@pid_file") == folder_.path().string() + "/m.pid\n";
  } catch (std::runtime_error const&) {
    return false;
  }
}

std::string mariadb_server::url(std::string const& database) {
  sql("CREATE DATABASE IF NOT EXISTS `" + database + "`");
  return "mysql://root@127.0.0.1:" + std::to_string(port_) + "/" + database;
}

std::string mariadb_server::sql(std::string const& statements) const {
  child_options how;
  how.argv = {find_program("mariadb", "mariadb-client"),
              "--no-defaults",
              "--protocol=tcp",
              "--host=127.0.0.1",
              "--port=" + std::to_string(port_),
              "--user=root",
              "--connect-timeout=5",
              "--batch",
              "--skip-column-names",
              "--execute=" + statements};
  return run_command(std::move(how));
}

void mariadb_server::kill() { child_->kill(); }

void mariadb_server::restart() {
  child_->kill();
  start();
  if (!eventually([&] { return !child_->running() || answers(); }) || !child_->running()) {
    throw std::runtime_error("mariadbd does not restart:\n" + child_->errors());
  }
}

void mariadb_server::pause() { child_->pause(); }
void mariadb_server::resume() { child_->resume(); }

}  // namespace herdlock_test
