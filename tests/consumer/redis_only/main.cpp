// Redis is here, the other stores are not: their URLs say which component they need.
#include <cstdio>
#include <herdlock/lock.hpp>
#include <herdlock/store_opener.hpp>
#include <stdexcept>
#include <string>

namespace {

void require(bool holds, char const* what) {
  if (!holds) throw std::runtime_error(what);
}

void open_redis(herdlock::store_opener const& stores) {
  herdlock::store store = stores.open("redis://127.0.0.1:1/?timeout=50ms");
  bool reached = true;
  try {
    static_cast<void>(herdlock::lock(store, "report").try_acquire());
  } catch (herdlock::error const&) {
    reached = false;
  }
  require(!reached, "nothing listens on port 1, and Redis' client says so");
}

void open_another(herdlock::store_opener const& stores) {
  auto const opened = stores.try_open("postgres://user:secret@host/db");
  require(opened.has_error(), "PostgreSQL is not in this program");
  std::string const& why = opened.error().message;
  require(opened.error() == herdlock::errc::not_built, "the code is not_built");
  require(why.find("herdlock::postgres") != why.npos, "the message names the component");
  require(why.find("postgres_schemes()") != why.npos, "the message names the way out");
  require(why.find("secret") == why.npos, "the message keeps the password to itself");
}

// The README's call links, too, and says what is missing.
void open_without_an_opener() {
  require(herdlock::try_open_store("memory:").has_value(), "memory: is in every program");
  auto const opened = herdlock::try_open_store("redis://user:secret@127.0.0.1:1");
  require(opened.has_error(), "open_store() does not know what was linked");
  std::string const& why = opened.error().message;
  require(opened.error() == herdlock::errc::not_built, "the code is not_built");
  require(why.find("redis_schemes()") != why.npos, "the message names the way out");
  require(why.find("link herdlock::herdlock") != why.npos, "the message names the other way out");
  require(why.find("secret") == why.npos, "the message keeps the password to itself");
}

}  // namespace

int main() try {
  herdlock::store_opener const stores{herdlock::redis_schemes()};
  open_redis(stores);
  open_another(stores);
  open_without_an_opener();
  std::puts("Redis alone is enough");
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
