#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <support/free_port.hpp>
#include <support/redis_line.hpp>
#include <support/redis_server.hpp>

namespace herdlock_test {
namespace {

// Which server the tests run on: a program that is started like redis-server.
std::string server_program() {
  char const* const wanted = std::getenv("HERDLOCK_TEST_REDIS");
  std::string const name = wanted && *wanted ? wanted : "redis-server";
  return find_program(name, name);
}

std::string credentials(std::string const& password) {
  return password.empty() ? "" : ":" + password + "@";
}

}  // namespace

redis_server::redis_server(redis_options options) : options_(std::move(options)) {
  if (options_.tls != redis_tls::off) {
    tls_ = options_.certificates ? options_.certificates : make_tls_files(folder_.path());
  }
  for (int i = 0; i < start_attempts; ++i) {
    port_ = ports_.add();
    tls_port_ = tls_ ? ports_.add() : std::uint16_t{0};
    start();
    if (eventually([&] { return !child_->running() || answers(); }) && child_->running()) return;
  }
  throw std::runtime_error(server_program() + " does not start:\n" + child_->output() +
                           child_->errors());
}

redis_server& redis_server::shared() {
  static redis_server server;
  return server;
}

std::vector<std::pair<std::string, std::string>> redis_server::tls_settings() const {
  if (!tls_) return {};
  bool const wrong = options_.tls == redis_tls::on_with_wrong_name;
  bool const asks = options_.tls == redis_tls::on_with_client_certificates;
  return {{"tls-port", std::to_string(tls_port_)},
          {"tls-ca-cert-file", tls_->authority.string()},
          {"tls-cert-file", (wrong ? tls_->wrong_name_certificate : tls_->server_certificate)},
          {"tls-key-file", (wrong ? tls_->wrong_name_key : tls_->server_key)},
          {"tls-auth-clients", asks ? "yes" : "no"}};
}

// A sentinel writes what it learns into its file.
std::vector<std::string> redis_server::sentinel_arguments() const {
  auto const file = folder_.path() / "sentinel.conf";
  std::ofstream text(file);
  text << "bind 127.0.0.1\nport " << port_ << "\ndir " << folder_.path().string() << "\n";
  if (!options_.password.empty()) text << "requirepass " << options_.password << "\n";
  for (auto const& [name, value] : tls_settings()) text << name << " " << value << "\n";
  if (tls_) text << "tls-replication yes\n";  // with the servers, and among themselves
  return {server_program(), file.string(), "--sentinel"};
}

std::vector<std::string> redis_server::arguments() const {
  if (options_.program == redis_program::sentinel) return sentinel_arguments();
  std::vector<std::string> list{server_program(),
                                "--bind",
                                "127.0.0.1",
                                "--port",
                                std::to_string(port_),
                                "--dir",
                                folder_.path().string(),
                                "--save",
                                "",
                                "--appendonly",
                                "no"};
  auto add = [&](std::initializer_list<std::string> more) { list.insert(list.end(), more); };
  if (options_.unix_socket == redis_unix_socket::on) add({"--unixsocket", socket_path().string()});
  for (auto const& [name, value] : tls_settings()) add({"--" + name, value});
  if (!options_.password.empty()) add({"--requirepass", options_.password});
  for (auto const& user : options_.users) {
    add({"--user"});
    std::istringstream words(user);
    for (std::string word; words >> word;) list.push_back(word);
  }
  list.insert(list.end(), options_.arguments.begin(), options_.arguments.end());
  return list;
}

void redis_server::start() {
  child_.reset();
  child_options how;
  how.argv = arguments();
  how.syncs = disk_syncs::skipped;
  how.folder = folder_.path();
  child_.emplace(std::move(how));
}

// Another test's server may have taken the port since it was found free: that one answers, too.
bool redis_server::answers() const {
  try {
    auto const own = "process_id:" + std::to_string(child_->pid()) + "\r\n";
    return cli("INFO server").find(own) != std::string::npos;
  } catch (std::runtime_error const&) {
    return false;
  }
}

std::string redis_server::url() const {
  return "redis://" + credentials(options_.password) + "127.0.0.1:" + std::to_string(port_);
}

std::string redis_server::tls_url() const {
  return "rediss://" + credentials(options_.password) + "127.0.0.1:" + std::to_string(tls_port_) +
         "?cafile=" + tls_->authority.string();
}

std::string redis_server::unix_url() const { return "redis+unix:" + socket_path().string(); }

std::string redis_server::last_words() const {
  constexpr std::size_t enough = 4000;
  std::string const all = child_->output();
  return all.substr(all.size() - std::min(all.size(), enough));
}

void redis_server::kill() { child_->kill(); }

void redis_server::restart() {
  child_->kill();
  start();
  if (!eventually([&] { return !child_->running() || answers(); }) || !child_->running()) {
    throw std::runtime_error(server_program() + " does not restart:\n" + child_->output());
  }
}

void redis_server::pause() { child_->pause(); }
void redis_server::resume() { child_->resume(); }

void redis_server::flush() {
  cli("FLUSHALL");
  cli("SCRIPT FLUSH");
}

std::string redis_server::command(std::vector<std::string> const& list) const {
  redis_line client("127.0.0.1", port_);
  if (!options_.password.empty()) client.command({"AUTH", options_.password});
  return client.command(list);
}

void redis_server::change_password(std::string const& to) {
  auto const said = command({"CONFIG", "SET", "requirepass", to});
  if (said != "OK") throw std::runtime_error("the test's server refuses a password: " + said);
  options_.password = to;
}

std::string redis_server::cli(std::string_view text) const {
  std::istringstream words{std::string(text)};
  std::vector<std::string> list;
  for (std::string word; words >> word;) list.push_back(word);
  return command(list);
}

long redis_server::calls(std::string const& command_name) const {
  auto const stats = cli("INFO commandstats");
  auto const at = stats.find("cmdstat_" + command_name + ":calls=");
  return at == std::string::npos ? 0 : std::stol(stats.substr(stats.find('=', at) + 1));
}

}  // namespace herdlock_test
