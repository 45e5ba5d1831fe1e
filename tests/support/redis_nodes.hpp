// Several independent redis-servers: the nodes of a redlock store.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <support/redis_server.hpp>

namespace herdlock_test {

class redis_nodes {
 public:
  explicit redis_nodes(std::size_t count = 5, redis_options const& options = {});

  /// Five of them per test process, started at the first call. Tests begin with reset().
  static redis_nodes& shared();

  std::size_t size() const { return nodes_.size(); }
  redis_server& operator[](std::size_t i) { return *nodes_[i]; }

  /// `redlock://127.0.0.1:PORT,…?restart_delay=0&OPTIONS`: the test's nodes have just been started.
  std::string url(std::string_view options = "") const;
  /// The same over other ports (relays).
  static std::string url_of(std::vector<std::uint16_t> const& ports, std::string_view options = "");
  std::vector<std::uint16_t> ports() const;

  /// All run, and are empty.
  void reset();
  /// What `command` answers on each node that runs, e.g. {"1", "0", "1", "1", "1"}.
  std::vector<std::string> each(std::string_view command) const;
  /// How many of them answer so.
  std::size_t count(std::string_view command, std::string_view answer) const;

 private:
  std::vector<std::unique_ptr<redis_server>> nodes_;
};

}  // namespace herdlock_test
