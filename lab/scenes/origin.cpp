#include "scenes/origin.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace herdlock::lab {

origin_kind const& origin_kind_of(store_url const& url) {
  std::string examples;
  for (origin_kind const& each : origins()) {
    if (each.scheme == url.scheme) return each;
    examples += fmt::format("{}{}", examples.empty() ? "" : " or ", each.example);
  }
  throw command_error(
      exit_code::usage,
      fmt::format("origin {}: this program has no origin of the scheme '{}'; use {}",
                  url.redacted(), url.scheme, examples));
}

// ------------------------------------------------------------------------------- one connection

// Every text in a statement is our own (random digits, a mode's name), never the user's.

origin::origin(origin_terms const& terms)
    : url_(cli::value_or_raise(store_url::parse(terms.url))),
      load_time_(terms.load_time),
      kind_(origin_kind_of(url_)),
      run_(kind_.open(url_)) {}

void origin::create() {
  auto const there =
      run_(fmt::format("SELECT COALESCE(SUM(name = 'Product'), 0),"
                       " COALESCE(SUM(name = 'herdlock_demo_load'), 0) FROM {}",
                       kind_.tables));
  if (there.at(0) != "0" && there.at(1) == "0") {
    throw command_error(
        exit_code::usage,
        fmt::format("origin {}: has a table Product that is not the demo's; give the demo a "
                    "database of its own",
                    url_.redacted()));
  }
  run_(
      fmt::format("CREATE TABLE IF NOT EXISTS herdlock_demo_load(id {}, run VARCHAR(40) NOT NULL,"
                  " mode VARCHAR(16) NOT NULL, expiry INTEGER NOT NULL, process INTEGER NOT NULL,"
                  " at {})",
                  kind_.counted, kind_.now));
  run_(
      "CREATE TABLE IF NOT EXISTS Product(id BIGINT PRIMARY KEY, name VARCHAR(200) NOT NULL,"
      " price_cents BIGINT NOT NULL, revision BIGINT NOT NULL)");
  std::string rows;
  for (int i = 1; i <= 100; ++i) {
    rows += fmt::format("{}({}, 'Product {}', {}, 0)", i == 1 ? "" : ",", i, i, 100 * i);
  }
  run_(fmt::format("{} INTO Product VALUES {}", kind_.insert_unless_there, rows));
}

void origin::revise(std::int64_t revision) {
  product const now = product_at(revision);
  run_(fmt::format("UPDATE Product SET name = '{}', price_cents = {}, revision = {} WHERE id = {}",
                   now.name, now.price_cents, now.revision, now.id));
}

product origin::load(load_label const& label, std::function<void()> const& logged) {
  run_(
      fmt::format("INSERT INTO herdlock_demo_load(run, mode, expiry, process)"
                  " VALUES ('{}', '{}', {}, {})",
                  label.run, label.mode, label.expiry, ::getpid()));
  logged();
  auto const row = run_(
      fmt::format("SELECT id, name, price_cents, revision, SLEEP({}) FROM Product WHERE id = {}",
                  static_cast<double>(load_time_.count()) / 1'000, hot_product_id));
  if (row.size() == 5) return {std::stoll(row[0]), row[1], std::stoll(row[2]), std::stoll(row[3])};
  throw command_error(exit_code::unavailable,
                      fmt::format("origin {}: somebody has taken the product {} away",
                                  url_.redacted(), hot_product_id));
}

std::int64_t origin::count_loads(load_label const& label) {
  auto const row =
      run_(fmt::format("SELECT COUNT(*) FROM herdlock_demo_load WHERE run = '{}' AND mode = '{}'",
                       label.run, label.mode));
  return std::stoll(row.at(0));
}

int origin::max_sessions() {
  return std::max(1, std::stoi(run_(fmt::format("SELECT {}", kind_.most_sessions)).at(0)));
}

// --------------------------------------------------------------------------------- many of them

product origin_pool::load_here(load_label const& label, std::function<void()> const& logged) const {
  thread_local std::unique_ptr<origin> idle;
  auto session = idle ? std::move(idle) : std::make_unique<origin>(terms_);
  product loaded = session->load(label, logged);
  idle = std::move(session);  // one that has failed is not used again
  return loaded;
}

awaitable<product> origin_pool::load(load_label label, std::function<void()> logged) {
  auto const work = [=, this]() -> awaitable<product> { co_return load_here(label, logged); };
  co_return co_await asio::co_spawn(threads_, work, use_awaitable);
}

}  // namespace herdlock::lab
