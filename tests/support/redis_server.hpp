// A real redis-server on a free loopback port.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <support/child_process.hpp>
#include <support/free_port.hpp>
#include <support/temp_dir.hpp>
#include <support/tls_files.hpp>

namespace herdlock_test {

enum class redis_tls { off, on, on_with_client_certificates, on_with_wrong_name };
enum class redis_unix_socket { off, on };
enum class redis_program { server, sentinel };

struct redis_options {
  std::string password{};            ///< requirepass
  std::vector<std::string> users{};  ///< ACL rules: "alice on >secret ~* &* +@all"
  redis_tls tls = redis_tls::off;    ///< a second port; the plain one stays
  redis_unix_socket unix_socket = redis_unix_socket::off;
  std::vector<std::string> arguments{};     ///< more of redis-server's own
  std::optional<tls_files> certificates{};  ///< shared with others; else made for this one
  redis_program program = redis_program::server;
};

/// Starts in the constructor and answers when that returns; data, socket and certificates are in
/// a temporary folder. Throws std::runtime_error when redis-server is missing or does not start.
class redis_server {
 public:
  explicit redis_server(redis_options options = {});

  /// One server per test process, started at the first call. Tests begin with flush().
  static redis_server& shared();

  std::uint16_t port() const { return port_; }
  std::uint16_t tls_port() const { return tls_port_; }
  /// The port that others are told: the one with TLS, if there is one.
  std::uint16_t public_port() const { return tls_ ? tls_port_ : port_; }
  pid_t pid() const { return child_->pid(); }
  /// `redis://[:password@]127.0.0.1:PORT`
  std::string url() const;
  /// `rediss://[:password@]127.0.0.1:PORT?cafile=…`
  std::string tls_url() const;
  /// `redis+unix:PATH`
  std::string unix_url() const;
  std::filesystem::path socket_path() const { return folder_.path() / "redis.sock"; }
  tls_files const& tls() const { return *tls_; }

  /// Of its files.
  std::filesystem::path const& folder() const { return folder_.path(); }

  void kill();     ///< SIGKILL; its port stays refused until restart()
  void restart();  ///< empty, on the same port
  void pause();    ///< SIGSTOP: connections stay open, nothing answers
  void resume();
  bool running() { return child_ && child_->running(); }
  /// For messages: the end of what it has printed.
  std::string last_words() const;

  /// For new connections; those that have logged in stay.
  void change_password(std::string const& to);

  void flush();  ///< FLUSHALL, SCRIPT FLUSH

  /// Runs one command over a connection of its own, as the default user, and renders the reply:
  /// strings and numbers as they are, nothing as "(nil)", lists line by line, errors with their
  /// text. Throws when the server does not answer within 5 s.
  std::string command(std::vector<std::string> const& arguments) const;
  /// The same for a command without spaces in its arguments.
  std::string cli(std::string_view text) const;
  /// How often it has executed this command since it was started or its counts were reset.
  long calls(std::string const& command_name) const;

 private:
  void start();
  std::vector<std::string> arguments() const;
  std::vector<std::string> sentinel_arguments() const;
  std::vector<std::pair<std::string, std::string>> tls_settings() const;
  bool answers() const;

  redis_options options_;
  temp_dir folder_;
  std::optional<tls_files> tls_;
  kept_ports ports_;
  std::uint16_t port_ = 0;
  std::uint16_t tls_port_ = 0;
  std::optional<child_process> child_;
};

}  // namespace herdlock_test
