// A real PostgreSQL server on a free loopback port.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <support/child_process.hpp>
#include <support/free_port.hpp>
#include <support/temp_dir.hpp>

namespace herdlock_test {

/// Makes a data folder and starts in the constructor. The roles `postgres` and `guest` (who may
/// create nothing) need no password; the one of `stranger` is `a-secret`. As root the server runs
/// as the system user `postgres`, or `nobody`. It does not wait for the disk: a killed server loses
/// nothing by that, only a machine would. Throws std::runtime_error when a program is missing.
class postgres_server {
 public:
  /// `settings` are those of its configuration, as `name=value`.
  explicit postgres_server(std::vector<std::string> settings = {});
  ~postgres_server();

  /// One server per test process, started at the first call.
  static postgres_server& shared();

  std::uint16_t port() const { return port_; }
  pid_t pid() const { return child_->pid(); }

  /// `postgres://postgres@127.0.0.1:PORT/postgres?table=NAME`, another name for each call.
  std::string fresh_url();
  /// The same on another port, as of a relay.
  static std::string through(std::string url, std::uint16_t from, std::uint16_t to);

  /// Runs SQL through psql in the database of the URL; rows as lines, columns with '|'.
  std::string sql(std::string const& url, std::string const& statements) const;
  /// A psql that reads statements from its standard input, for tests that keep a session.
  child_options session(std::string const& url) const;

  void kill();     ///< SIGKILL, as a crash
  void start();    ///< with its data
  void restart();  ///< both
  void pause();    ///< the whole server, sessions too
  void resume();

 private:
  void launch();
  bool answers() const;
  void signal_all(int number) const;

  std::vector<std::string> settings_;
  temp_dir folder_;
  kept_ports ports_;
  std::uint16_t port_ = 0;
  std::optional<child_process> child_;
  int tables_ = 0;
};

}  // namespace herdlock_test
