// The database behind the cache: a table, a deliberately slow query, and a log that the database
// itself keeps of every load. The log is what the scene counts; the guard under test is not asked.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <boost/describe/class.hpp>
#include <functional>
#include <herdlock/codec_described.hpp>
#include <herdlock/url.hpp>
#include <nlohmann/json.hpp>
#include <span>

#include "stage/coroutines.hpp"
#include "stage/shared.hpp"

namespace herdlock::lab {

/// What everybody asks for: one row of the table `Product`.
struct product {
  std::int64_t id = 0;
  std::string name;
  std::int64_t price_cents = 0;
  /// Raised in the database before each expiry, so that an old answer is told from a right one.
  std::int64_t revision = 0;

  friend bool operator==(product const&, product const&) = default;
};
BOOST_DESCRIBE_STRUCT(product, (), (id, name, price_cents, revision))
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(product, id, name, price_cents, revision)

/// The row that is hot.
inline constexpr std::int64_t hot_product_id = 42;
/// Its name and price at a revision, the same in every database.
inline product product_at(std::int64_t revision) {
  return {hot_product_id, "Espresso machine, two groups", 249'900 + revision, revision};
}

/// A string of JSON, as many caches keep it.
struct product_json {
  static constexpr layout form = layout::string;

  static result<cache_value> encode(product const& p) {
    return cache_value(nlohmann::json(p).dump());
  }
  static result<product> decode(cache_value const& value) try {
    return nlohmann::json::parse(std::get<std::string>(value)).get<product>();
  } catch (std::exception const&) {
    return make_failure(errc::invalid_value, "the cached product is not the JSON of a product");
  }
};

/// One connection: does what a statement says, and returns the first row of the answer; empty when
/// there is none. Blocking; used by one thread at a time. Throws command_error.
using database = std::function<std::vector<std::string>(std::string const& sql)>;

/// A kind of database, and what it says in words of its own. Each has a function SLEEP(seconds).
struct origin_kind {
  std::string_view scheme;
  char const* example;  ///< a URL
  /// Throws command_error: usage for the URL, unavailable for the database.
  database (*open)(store_url const& url);

  char const* tables;   ///< to select `name` from
  char const* counted;  ///< a column: the number of a row
  char const* now;      ///< a column: when a row came
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
  awaitable<product> load(load_label label, std::function<void()> logged);

 private:
  product load_here(load_label const& label, std::function<void()> const& logged) const;

  origin_terms const terms_;
  asio::thread_pool threads_;
};

}  // namespace herdlock::lab
