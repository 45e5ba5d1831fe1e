// A real MariaDB server on a free loopback port.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <support/child_process.hpp>
#include <support/free_port.hpp>
#include <support/temp_dir.hpp>

namespace herdlock_test {

/// Makes a data folder and starts in the constructor; root has no password. As root the server
/// runs as the system user `mysql`. Throws std::runtime_error when a program is missing.
class mariadb_server {
 public:
  /// `options` are added to the server's command line.
  explicit mariadb_server(std::vector<std::string> options = {});

  /// One server per test process, started at the first call.
  static mariadb_server& shared();

  std::uint16_t port() const { return port_; }
  pid_t pid() const { return child_->pid(); }

  /// Creates the database if there is none; `mysql://root@127.0.0.1:PORT/NAME`.
  std::string url(std::string const& database);

  /// Runs SQL through the mariadb command; rows as lines, columns with tabs, no headings.
  std::string sql(std::string const& statements) const;

  void kill();
  void restart();  ///< with its data
  void pause();
  void resume();

 private:
  void start();
  bool answers() const;

  std::vector<std::string> options_;
  temp_dir folder_;
  kept_ports ports_;
  std::uint16_t port_ = 0;
  std::optional<child_process> child_;
};

}  // namespace herdlock_test
