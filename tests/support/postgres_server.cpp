#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <support/free_port.hpp>
#include <support/postgres_server.hpp>
#include <support/system_user.hpp>

namespace herdlock_test {
namespace {

// The programs refuse to run as root. The package postgresql makes `postgres`, but the tests need
// its programs alone, and any user without rights will do.
std::string postgres_user() { return server_user("postgres"); }

// Debian keeps the programs of each version out of PATH; empty when there is none.
std::string program_of_a_version(std::string const& name) {
  for (int version = 20; version >= 13; --version) {
    std::string path = "/usr/lib/postgresql/" + std::to_string(version) + "/bin/" + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

std::string server_program(std::string const& name) {
  try {
    return find_program(name, "postgresql-15");
  } catch (std::runtime_error const&) {
    auto path = program_of_a_version(name);
    if (path.empty()) throw;
    return path;
  }
}

// What PATH has is a Perl program that starts it, and takes longer than it.
std::string psql() {
  auto path = program_of_a_version("psql");
  return path.empty() ? find_program("psql", "postgresql-client") : path;
}

child_options as_server_user(std::vector<std::string> argv) {
  child_options how;
  how.argv = std::move(argv);
  how.syncs = disk_syncs::skipped;
  how.user = postgres_user();
  how.folder = "/";
  return how;
}

}  // namespace

postgres_server::postgres_server(std::vector<std::string> settings)
    : settings_(std::move(settings)) {
  give_to(postgres_user(), folder_.path());
  std::string const data = folder_.path().string();
  run_command(as_server_user({server_program("initdb"), "-D", data, "-A", "trust", "-U", "postgres",
                              "--no-sync", "-E", "UTF8", "--locale=C"}));
  std::ofstream(folder_ / "pg_hba.conf", std::ios::trunc)
      << "host all stranger 127.0.0.1/32 scram-sha-256\n"
         "local all all trust\nhost all all 127.0.0.1/32 trust\n";
  for (int i = 0; i < start_attempts; ++i) {
    port_ = ports_.add();
    launch();
    if (eventually([&] { return !child_->running() || answers(); }) && child_->running()) {
      sql("postgres://postgres@127.0.0.1:" + std::to_string(port_) + "/postgres",
          "CREATE ROLE stranger LOGIN PASSWORD 'a-secret'; CREATE ROLE guest LOGIN;");
      return;
    }
  }
  throw std::runtime_error("postgres does not start:\n" + child_->output() + child_->errors());
}

// Its sessions end by themselves when the postmaster has gone; its shared memory goes with them.
postgres_server::~postgres_server() {
  if (!child_ || !child_->running()) return;
  child_->signal(SIGQUIT);
  child_->wait();
}

postgres_server& postgres_server::shared() {
  static postgres_server server;
  return server;
}

void postgres_server::launch() {
  child_.reset();
  std::string const data = folder_.path().string();
  std::vector<std::string> argv{server_program("postgres"),
                                "-D",
                                data,
                                "-p",
                                std::to_string(port_),
                                "-k",
                                data,
                                "-c",
                                "listen_addresses=127.0.0.1",
                                "-c",
                                "max_connections=200",
                                "-c",
                                "shared_buffers=16MB",
                                "-c",
                                "fsync=off"};
  for (auto const& each : settings_) argv.insert(argv.end(), {"-c", each});
  child_.emplace(as_server_user(std::move(argv)));
}

// Another test's server may have taken the port since it was found free.
bool postgres_server::answers() const {
  try {
    return listens(port_) &&
           sql("postgres://postgres@127.0.0.1:" + std::to_string(port_) + "/postgres",
               "SHOW data_directory") == folder_.path().string() + "\n";
  } catch (std::runtime_error const&) {
    return false;
  }
}

std::string postgres_server::fresh_url() {
  return "postgres://postgres@127.0.0.1:" + std::to_string(port_) + "/postgres?table=test_" +
         std::to_string(++tables_);
}

std::string postgres_server::through(std::string url, std::uint16_t from, std::uint16_t to) {
  std::string const old = ":" + std::to_string(from) + "/";
  return url.replace(url.find(old), old.size(), ":" + std::to_string(to) + "/");
}

child_options postgres_server::session(std::string const& url) const {
  child_options how;
  how.argv = {psql(),
              "--no-psqlrc",
              "--no-align",
              "--tuples-only",
              "--quiet",
              "--set=ON_ERROR_STOP=1",
              url.substr(0, url.find('?'))};
  how.input = process_input::pipe;
  return how;
}

std::string postgres_server::sql(std::string const& url, std::string const& statements) const {
  child_options how = session(url);
  how.input = process_input::none;
  how.argv.push_back("--command=" + statements);
  return run_command(std::move(how));
}

// Sessions notice that the postmaster has gone, but those that are busy only after a while.
void postgres_server::kill() {
  child_->pause();  // so that it starts no more of them
  signal_all(SIGKILL);
  child_->kill();
}

void postgres_server::start() {
  if (!eventually([&] {
        launch();
        return eventually([&] { return !child_->running() || answers(); }) && child_->running();
      })) {
    throw std::runtime_error("postgres does not restart:\n" + child_->errors());
  }
}

void postgres_server::restart() {
  kill();
  start();
}

void postgres_server::signal_all(int number) const {
  std::string const tasks = "/proc/" + std::to_string(child_->pid()) + "/task/" +
                            std::to_string(child_->pid()) + "/children";
  std::ifstream children(tasks);
  for (pid_t each = 0; children >> each;) ::kill(each, number);
}

void postgres_server::pause() {
  child_->pause();
  signal_all(SIGSTOP);
}

void postgres_server::resume() {
  signal_all(SIGCONT);
  child_->resume();
}

}  // namespace herdlock_test
