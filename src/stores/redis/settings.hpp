// What a store URL says about a Redis server.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <herdlock/error.hpp>
#include <herdlock/types.hpp>
#include <herdlock/url.hpp>
#include "stores/common/connection_news.hpp"
#include "stores/common/tls_settings.hpp"
#include "stores/redis/durability/durability_settings.hpp"

namespace herdlock::redis {

/// What a lease is in the server: ours, or what other clients agreed on long ago.
enum class dialect {
  herdlock,  ///< the resource's own key and side keys: fencing, cache
  plain,     ///< one key, `SET NX PX` and compare-and-delete: see plain_dialect.hpp
  getset,    ///< one key that holds a Unix time: see getset_dialect.hpp
};

/// What a server has to be.
enum class server_part {
  master,        ///< everything is written there
  cluster_node,  ///< whichever: the nodes tell each other, and us, who serves what
};
class address_resolver;
class membership;

struct settings {
  std::string display_name;  ///< the URL without its password
  std::string host;
  std::uint16_t port = 6379;
  std::string unix_path;  ///< instead of host and port
  std::string user;
  std::string password;
  int database = 0;
  stores::tls_settings tls;
  milliseconds timeout{2000};
  dialect speaks = dialect::herdlock;
  server_part part = server_part::master;
  std::string prefix;       ///< of the dialects: stands in front of each key
  milliseconds skew{1000};  ///< of getset: what the clients' wall clocks may differ
  durability_settings durable;

  std::vector<stores::server_address> sentinels;  ///< to be asked for the address of
  std::string master_name;                        ///< this one
  std::string sentinel_user;
  std::string sentinel_password;
  /// Asked for host and port before each connection, if there is one; made by who opens the store.
  std::shared_ptr<address_resolver> resolver;
  /// Asked about each server before it is used, if there is one; made by who opens the store.
  std::shared_ptr<membership> members;
  /// Told when a connection for commands has come up anew, if it is there; made by who opens the
  /// store. Connections for events have none.
  std::shared_ptr<stores::connection_news> news;

  /// The same, with that host and port.
  settings at(stores::server_address const& where) const;
  /// `host:port` or the socket's path, for messages.
  std::string address() const;
  /// A failure that names the store.
  failure failed(errc code, std::string const& why) const;
};

/// `cannot VERB 'NAME' at STORE: …` of a failure that begins with the store.
failure cannot(std::string_view verb, std::string_view name, failure const& why);

/// errc::invalid_url when they ask for what only a single server, or Sentinel, can give.
failure refuse_single_server_options(settings const& how);

/// errc::invalid_url for anything that is not understood.
result<settings> parse_settings(store_url url);

}  // namespace herdlock::redis
