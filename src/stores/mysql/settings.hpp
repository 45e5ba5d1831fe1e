// What a store URL says about a MariaDB or MySQL server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <herdlock/types.hpp>
#include <herdlock/url.hpp>
#include <string>
#include <vector>

#include "stores/common/tls_settings.hpp"

namespace herdlock::mysql {

/// What holds a lease in the server.
enum class lock_mode {
  table,  ///< a row with an expiry
  row,    ///< a transaction with SELECT … FOR UPDATE
  named,  ///< GET_LOCK
};

struct settings {
  std::string display_name;  ///< the URL without its password
  std::string host;
  std::uint16_t port = 3306;
  std::string socket;  ///< path of a Unix socket, instead of host and port
  std::string user;
  std::string password;
  std::string database;
  lock_mode mode = lock_mode::table;
  std::string table;  ///< of the leases; row mode has another one, `<table>_lock`,
                      ///< and session_grace `<table>_open`
  stores::tls_settings tls;
  milliseconds timeout{2000};    ///< of each command
  milliseconds keep{3'600'000};  ///< how long a row that nobody holds is kept
  /// How long whoever succeeds a holder that did not release waits first; 0: not at all.
  milliseconds session_grace{0};
  std::size_t pool = 0;  ///< connections; of session-held modes: leases and waits
  std::size_t max_pending = 65536;

  /// `host:port` or the socket's path, for messages.
  std::string address() const;
  /// The tables of the mode; the first one is `table`.
  std::vector<std::string> tables() const;
  /// Makes what is missing of them.
  std::string ddl() const;
  /// The same and the rights on them, for an administrator to paste: it names the database, and the
  /// account, which is `user@host` as CURRENT_USER() tells it.
  std::string set_up_script(std::string const& account) const;
};

/// errc::invalid_url for anything that is not understood.
result<settings> parse_settings(store_url url);

}  // namespace herdlock::mysql
