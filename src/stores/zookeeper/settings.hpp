// What a zk: URL says.
#pragma once

#include <herdlock/types.hpp>
#include <herdlock/url.hpp>
#include <string>

#include "stores/zookeeper/names.hpp"

namespace herdlock::zookeeper {

enum class access { open, creator };

struct settings {
  std::string servers;  ///< host:port,host:port as the C client takes it
  std::string chroot;   ///< "" or "/a/b"
  std::string login;    ///< user:password; empty without
  std::string display_name;
  milliseconds timeout{5000};
  milliseconds session_timeout{10'000};
  milliseconds session_grace{0};
  naming names = naming::curator;
  access acl = access::open;
  std::size_t max_pending = 65536;

  /// How long after an answered write the session surely lives.
  ///
  /// The server that we are connected to may tell the leader of our last sign of life late: we are
  /// silent for up to a third of the timeout (then the client pings), and servers report every half
  /// tick (at most a quarter of the timeout, since the least session is of two ticks). So the
  /// leader's count may have begun 7/12 of the timeout before the write; and a server that dies
  /// right after the write never reports it, so that the silence alone, up to two thirds before
  /// the client gives the server up, is what counts.
  milliseconds longest_validity() const { return session_timeout / 3; }
};

/// Fails with errc::invalid_url.
result<settings> take_settings(store_url url);

}  // namespace herdlock::zookeeper
