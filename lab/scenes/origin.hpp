// The database behind the cache: a table, a deliberately slow query, and a log that the database
// itself keeps of every load. The log is what the scene counts; the guard under test is not asked.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <functional>
#include <herdlock/url.hpp>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenes/product.hpp"

namespace herdlock::lab {

namespace asio = boost::asio;

/// One connection: does what a statement says, and returns the first row of the answer; empty when
/// there is none. Blocking; used by one thread at a time. Throws command_error.
using database = std::function<std::vector<std::string>(std::string const& sql)>;

/// A kind of database, and what it says in words of its own. Each has a function SLEEP(seconds).
struct origin_kind {
  std::string_view scheme;
  char const* example;  ///< a URL
  /// Throws command_error: usage for the URL, unavailable for the database.
  database (*open)(store_url const& url);

  char const* tables;      ///< to select `name` from
  char const* create_log;  ///< the table herdlock_demo_load
  char const* insert_unless_there;
  char const* most_sessions;  ///< to select: connections that we may open together
};

/// Those that this program was built with: each program says so for itself, as with its stores().
std::span<origin_kind const> origins();
extern origin_kind const sqlite_origin;  // origin_sqlite.cpp
extern origin_kind const mysql_origin;   // origin_mysql.cpp

/// Throws command_error (usage) for a URL of no origin that this program has.
origin_kind const& origin_kind_of(store_url const& url);

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

/// One connection. Blocking; used by one thread at a time. All of it throws command_error. A
/// process that has one open starts no process.
class origin {
 public:
  explicit origin(origin_terms const& terms);

  /// Makes the tables and fills them, once per run. Refuses a table `Product` of somebody else.
  void create();
  /// Gives the hot product a new price; later loads must show it.
  void revise(std::int64_t revision);
  /// Reads the hot product slowly. `logged` is called when the load is in the log: who is killed
  /// from then on has loaded.
  product load(load_label const& label, std::function<void()> const& logged);
  /// The rows that loads of this run have written in this mode.
  std::int64_t count_loads(load_label const& label);
  /// How many connections the database grants to all processes of the scene together.
  int max_sessions();

 private:
  store_url const url_;
  milliseconds const load_time_;
  origin_kind const& kind_;
  database const run_;
};

/// At most `size` loads at once, each on a thread and a connection of its own, as a service with
/// a connection pool has them; more loads queue.
class origin_pool {
 public:
  origin_pool(origin_terms terms, int size)
      : terms_(std::move(terms)), threads_(static_cast<std::size_t>(size)) {}
  ~origin_pool() { threads_.join(); }

  /// As origin::load(); `logged` is called on a thread of the pool.
  asio::awaitable<product> load(load_label label, std::function<void()> logged);

 private:
  asio::awaitable<product> load_here(load_label label, std::function<void()> logged);
  std::unique_ptr<origin> take();

  origin_terms const terms_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<origin>> idle_;
  asio::thread_pool threads_;
};

}  // namespace herdlock::lab
