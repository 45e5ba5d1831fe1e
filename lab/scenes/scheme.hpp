// One way to answer the requests for the hot product: what it keeps in the stores, and how it asks.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <herdlock/open.hpp>
#include <memory>
#include <optional>

#include "scenes/product.hpp"
#include "scenes/stampede_options.hpp"

namespace herdlock::cli {

namespace asio = boost::asio;

struct scheme_stores {
  store values;
  std::optional<store> locks;  ///< of double_lock alone
};

/// Opens what the mode needs. Throws command_error.
scheme_stores open_stores(worker_orders const& orders);

/// A load may be slow, and may have to be done again by another process.
milliseconds load_limit(worker_orders const& orders);

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

  /// The first round trip: fails when a store cannot be used.
  virtual asio::awaitable<void> look() = 0;
};

using load_product = std::function<asio::awaitable<product>()>;

/// Throws herdlock::error for a mode that the stores cannot do.
std::unique_ptr<scheme> make_scheme(scheme_stores const& stores, worker_orders const& orders,
                                    load_product load);

}  // namespace herdlock::cli
