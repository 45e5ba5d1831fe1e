// The database behind the cache: a table, a deliberately slow query, and a log that the database
// itself keeps of every load. The log is what the demo counts; the guard under test is not asked.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <herdlock/url.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "scenes/product.hpp"

namespace herdlock::cli {

/// Which loads belong together in the log.
struct load_label {
  std::string run;  ///< random, so that two demos may share a database
  std::string mode;
  int expiry = 0;
};

/// One connection. Blocking; used by one thread at a time. Throws command_error.
class origin_session {
 public:
  virtual ~origin_session() = default;

  /// Makes the tables and fills them, once per demo. Refuses a table `Product` of somebody else.
  virtual void create() = 0;
  /// Gives the hot product a new price; later loads must show it. The row as it is now.
  virtual product revise(std::int64_t revision) = 0;
  /// Writes the load into the log.
  virtual void log_load(load_label const& label) = 0;
  /// Reads the hot product slowly.
  virtual product load() = 0;
  /// The rows that loads of this run have written in this mode.
  virtual std::int64_t count_loads(load_label const& label) = 0;
  /// How many connections the database grants to all processes of the demo together.
  virtual int max_sessions() = 0;
};

/// Where the database is, and how slow it is to be.
struct origin_terms {
  std::string url;
  milliseconds load_time{50};
};

/// Opens one connection. Throws command_error: usage for the URL, unavailable for the database.
std::unique_ptr<origin_session> open_origin(origin_terms const& terms);

std::unique_ptr<origin_session> open_sqlite_origin(store_url const& url, milliseconds load_time);
std::unique_ptr<origin_session> open_mysql_origin(store_url const& url, milliseconds load_time);

/// The name and price of the product at a revision, the same on every backend.
product product_at(std::int64_t revision);

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
  std::unique_ptr<origin_session> take();

  origin_terms terms_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<origin_session>> idle_;
  boost::asio::thread_pool threads_;
};

}  // namespace herdlock::cli
