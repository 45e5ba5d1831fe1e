// The store of those who run PostgreSQL.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <herdlock/backend.hpp>
#include <herdlock/examination.hpp>
#include <herdlock/url.hpp>

namespace herdlock {

/// `postgres://user:password@host:port/database?mode=table|row|advisory` (13 or newer; the modes
/// row and advisory need 14). Connects when the first command comes; a server that cannot be used
/// fails that command with errc::unavailable or errc::access_denied.
/// Options: `table` (default herdlock_leases; with or without a schema), `timeout` (of each
/// command, default 5s, at most 5m), `max_pending`, `sessions` (connections for the locks of the
/// modes row and advisory, default 16), `socket` (the folder of a Unix socket instead of the
/// host), and libpq's own for TLS and keep-alive: sslmode, sslrootcert, sslcert, sslkey, sslcrl,
/// sslcrldir, sslpassword, sslsni, ssl_min_protocol_version, channel_binding, gssencmode,
/// krbsrvname, passfile, require_auth, keepalives…, tcp_user_timeout.
///
/// docs/stores/postgres.md says what each mode promises.
result<backend> open_postgres(store_url url, asio::any_io_executor executor);

/// What is wrong with a PostgreSQL server for locks: see examine_store().
result<examination> examine_postgres(store_url url);

}  // namespace herdlock
