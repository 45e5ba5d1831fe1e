// Which server the connections of a store lead to.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <herdlock/types.hpp>

namespace herdlock::stores {

/// All connections have to lead to `present`: true when the one to `server` is to be given up. An
/// empty identity is of a server that did not tell it, and is no reason.
inline bool leads_elsewhere(std::string const& server, std::string const& present) {
  return !server.empty() && server != present;
}

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

  /// A connection that was begun then has come up at that server. An empty identity is no reason to
  /// give anything up: the server did not tell it.
  verdict met(clock::time_point begun, std::string const& identity) {
    if (identity.empty()) return verdict::same;
    bool const known = !identity_.empty();
    if (known && identity != identity_ && begun < begun_) return verdict::outdated;
    bool const moved = known && identity != identity_;
    if (!known || moved || begun > begun_) begun_ = begun;
    identity_ = identity;
    return moved ? verdict::moved : verdict::same;
  }

  /// The server that was met last; empty before the first one that told who it is.
  std::string const& identity() const { return identity_; }

 private:
  std::string identity_;
  clock::time_point begun_{};
};

/// A balancer in front of several servers looks like a name that moves to and fro, and then no
/// connection stays for long. A server that is only started anew again and again does not: it
/// never comes back as the one that it was.
class to_and_fro {
 public:
  static constexpr unsigned most = 2;
  static constexpr std::size_t remembered = 64;  // servers
  static constexpr std::chrono::minutes within{1};

  /// The present server was exchanged. True: so many times for one that had been left before, and
  /// no exchange was a minute after the one before it.
  bool moved(std::string const& from, std::string const& to, clock::time_point now) {
    if (now - last_ > within) {
      left_.clear();
      returns_ = 0;
    }
    last_ = now;
    if (std::ranges::count(left_, to) > 0) ++returns_;
    std::erase(left_, from);
    left_.push_back(from);
    if (left_.size() > remembered) left_.erase(left_.begin());
    return returns_ >= most;
  }

 private:
  std::vector<std::string> left_;  // the last one at the end
  unsigned returns_ = 0;
  clock::time_point last_{};
};

}  // namespace herdlock::stores
