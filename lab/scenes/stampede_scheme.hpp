// The ways to guard a hot entry that the stampede plays: what each keeps in the stores, and how it
// asks.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <herdlock/open.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "scenes/origin.hpp"

namespace herdlock::lab {

namespace asio = boost::asio;

struct guard_mode;

/// What the processes of a mode are told.
struct stampede_orders {
  std::string store_url;
  std::string locks_url;
  origin_terms origin;
  guard_mode const* mode = nullptr;
  std::string run;
  std::string key;
  int processes = 4;
  int requests = 50;  ///< in each process
  int expiries = 3;
  int connections = 1;  ///< to the database, of each process
  milliseconds claim_ttl{2'000};
  bool kill_loader = false;  ///< in the first expiry, where the mode is fleet

  static constexpr int max_processes = 256;
  static constexpr int max_requests = 100'000;
};

/// A load may be slow, and may have to be done again by another process.
milliseconds load_limit(stampede_orders const& orders);

struct scheme_stores {
  store values;
  std::optional<store> locks;  ///< of double-lock alone
};

/// Opens what the mode needs. Throws command_error.
scheme_stores open_stores(stampede_orders const& orders);

/// Of one process. Used on the executor of the values' store.
class scheme {
 public:
  virtual ~scheme() = default;

  /// One request; throws when it fails.
  virtual asio::awaitable<product> ask() = 0;

  /// Goes up with each request that the cache has no answer for when it comes, so that it waits
  /// for a load: its own or another's. What play_expiry() asks may count, too.
  virtual std::uint64_t waited() const = 0;

  /// Keeps the product as it is before the expiry, and returns when the requests are to come: with
  /// the expiry, or head_start() before it.
  virtual asio::awaitable<void> play_expiry(product before) = 0;

  /// In each process, right before the requests come.
  virtual asio::awaitable<void> get_ready() { co_return; }

  /// Goes up with each request that is answered with what this process keeps.
  virtual std::uint64_t near_hits() const { return 0; }

  /// Takes the entry out of the store.
  virtual asio::awaitable<void> remove() = 0;

  /// The first round trip: fails when the store cannot be used.
  virtual asio::awaitable<void> look() = 0;
};

using load_product = std::function<asio::awaitable<product>()>;

struct guard_mode {
  char const* name;
  char const* does;  ///< one line
  /// Throws herdlock::error for a mode that the stores cannot do.
  std::unique_ptr<scheme> (*make)(scheme_stores const&, stampede_orders const&, load_product);
  /// While the new product is loaded the one before it is a right answer, too.
  bool serves_old = false;
  /// The requests come before the entry expires.
  bool comes_early = false;
  /// A process keeps the product, and the requests come once more when it does.
  bool keeps_near = false;
  /// Its locks live in a store of their own.
  bool has_locks = false;
};

/// In the order in which they are told.
std::span<guard_mode const> all_modes();

asio::awaitable<void> sleep_for(milliseconds time);

/// How long before the entry would expire the requests come; 0 where they come behind its expiry.
milliseconds head_start(guard_mode const& mode, milliseconds load_time);

}  // namespace herdlock::lab
