// Which server the connections of a store lead to.
#pragma once

#include <string>

#include <herdlock/types.hpp>

namespace herdlock::stores {

/// A name can lead new connections to another server while the old ones stay where they are (a
/// proxy, a service address, a DNS name behind a failover). What is held at the old server is then
/// granted again at the new one. So all connections of a store have to lead to the server that the
/// one which was begun last has met.
class present_server {
 public:
  enum class verdict {
    same,
    moved,    ///< those that lead elsewhere are to be given up
    outdated  ///< this one is: it was begun before one that leads elsewhere
  };

  /// A connection that was begun then has come up at that server. Nobody knows of an empty identity
  /// where it leads: that is no reason to give anything up.
  verdict met(clock::time_point begun, std::string const& identity) {
    if (identity.empty()) return verdict::same;
    bool const known = !identity_.empty();
    if (known && identity != identity_ && begun < begun_) return verdict::outdated;
    bool const moved = known && identity != identity_;
    if (!known || moved || begun > begun_) begun_ = begun;
    identity_ = identity;
    return moved ? verdict::moved : verdict::same;
  }

 private:
  std::string identity_;
  clock::time_point begun_{};
};

}  // namespace herdlock::stores
