#include "scenes/origin.hpp"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "terminal/exit_code.hpp"

namespace herdlock::cli {

namespace asio = boost::asio;

product product_at(std::int64_t revision) {
  return {hot_product_id, "Espresso machine, two groups", 249'900 + revision, revision};
}

std::unique_ptr<origin_session> open_origin(origin_terms const& terms) {
  store_url const url = value_or_raise(store_url::parse(terms.url));
  if (url.scheme == "sqlite") return open_sqlite_origin(url, terms.load_time);
  if (url.scheme == "mysql") {
#ifdef HERDLOCK_MYSQL_ORIGIN
    return open_mysql_origin(url, terms.load_time);
#else
    throw command_error(
        exit_code::usage,
        fmt::format("{}: this build has no MySQL origin; use sqlite:PATH", url.redacted()));
#endif
  }
  throw command_error(exit_code::usage,
                      fmt::format("{}: unknown scheme '{}' for an origin; use sqlite:PATH or "
                                  "mysql://user:password@host:port/database",
                                  url.redacted(), url.scheme));
}

origin_pool::origin_pool(origin_terms terms, int size)
    : terms_(std::move(terms)), threads_(static_cast<std::size_t>(size)) {}

origin_pool::~origin_pool() { threads_.join(); }

std::unique_ptr<origin_session> origin_pool::take() {
  {
    std::lock_guard const held(mutex_);
    if (!idle_.empty()) {
      auto session = std::move(idle_.back());
      idle_.pop_back();
      return session;
    }
  }
  return open_origin(terms_);
}

asio::awaitable<product> origin_pool::load_here(load_label label, std::function<void()> logged) {
  auto session = take();
  session->log_load(label);
  logged();
  product loaded = session->load();
  std::lock_guard const held(mutex_);
  idle_.push_back(std::move(session));
  co_return loaded;
}

asio::awaitable<product> origin_pool::load(load_label label, std::function<void()> logged) {
  auto work = load_here(std::move(label), std::move(logged));
  co_return co_await asio::co_spawn(threads_, std::move(work), asio::use_awaitable);
}

}  // namespace herdlock::cli
