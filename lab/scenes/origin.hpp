// The database behind the cache: a table, a deliberately slow query, and a log that the database
// itself keeps of every load. The log is what the scene counts; the guard under test is not asked.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <functional>
#include <herdlock/types.hpp>
#include <herdlock/url.hpp>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenes/product.hpp"

namespace herdlock::lab {

/// One connection. Blocking; used by one thread at a time.
class database {
 public:
  virtual ~database() = default;
  /// The first row of what it answers; empty when there is none. Throws command_error.
  virtual std::vector<std::string> run(std::string const& sql) = 0;
};

/// A kind of database, and what it says in words of its own. Each has a function SLEEP(seconds).
struct origin_kind {
  std::string_view scheme;
  char const* example;  ///< a URL
  /// Throws command_error: usage for the URL, unavailable for the database.
  std::unique_ptr<database> (*open)(store_url const& url);

  char const* tables;      ///< to select `name` from
  char const* create_log;  ///< the table herdlock_demo_load
  char const* insert_unless_there;
  char const* most_sessions;  ///< to select: connections that we may open together
};

/// Those that this program was built with: each program says so for itself, as with its stores().
std::span<origin_kind const> origins();
extern origin_kind const sqlite_origin;  // origin_sqlite.cpp
extern origin_kind const mysql_origin;   // origin_mysql.cpp

/// Which loads belong together in the log.
struct load_label {
  std::string run;  ///< random, so that two runs may share a database
  std::string mode;
  int expiry = 0;
};

/// Where the database is, and how slow it is to be.
struct origin_terms {
  std::string url;
  milliseconds load_time{50};
};

/// Throws command_error (usage) for a URL of no origin that this program has.
origin_kind const& origin_kind_of(store_url const& url);

/// One connection. Blocking; used by one thread at a time. All of it throws command_error. A
/// process that has one open starts no process.
class origin {
 public:
  explicit origin(origin_terms const& terms);

  /// Makes the tables and fills them, once per run. Refuses a table `Product` of somebody else.
  void create();
  /// Gives the hot product a new price; later loads must show it.
  void revise(std::int64_t revision);
  /// Writes the load into the log.
  void log_load(load_label const& label);
  /// Reads the hot product slowly.
  product load();
  /// The rows that loads of this run have written in this mode.
  std::int64_t count_loads(load_label const& label);
  /// How many connections the database grants to all processes of the scene together.
  int max_sessions();

 private:
  store_url const url_;
  milliseconds const load_time_;
  origin_kind const& kind_;
  std::unique_ptr<database> const database_;
};

/// At most `size` loads at once, each on a thread and a connection of its own, as a service with
/// a connection pool has them; more loads queue.
class origin_pool {
 public:
  origin_pool(origin_terms terms, int size);
  ~origin_pool();

  /// Throws command_error when the database fails. `logged` is called, on a thread of the pool,
  /// when the load is in the log: who is killed from then on has loaded.
  boost::asio::awaitable<product> load(load_label label, std::function<void()> logged);

 private:
  boost::asio::awaitable<product> load_here(load_label label, std::function<void()> logged);
  std::unique_ptr<origin> take();

  origin_terms const terms_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<origin>> idle_;
  boost::asio::thread_pool threads_;
};

}  // namespace herdlock::lab
