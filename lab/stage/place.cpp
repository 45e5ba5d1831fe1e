#include "stage/place.hpp"

#include <herdlock/lock.hpp>
#include <herdlock/url.hpp>
#include <support/redis_server.hpp>

#include "stage/temp_folder.hpp"
#include "terminal/store_argument.hpp"

namespace herdlock::lab {

using cli::command_error;
using cli::exit_code;

namespace {

#ifdef HERDLOCK_HAS_REDIS
constexpr bool knows_redis = true;
#else
constexpr bool knows_redis = false;
#endif

bool is_installed(char const* program) {
  try {
    herdlock_test::find_program(program, program);
    return true;
  } catch (std::runtime_error const&) {
    return false;
  }
}

}  // namespace

store open_here(std::string const& url, open_options how) {
  return cli::value_or_raise(try_open_here(url, std::move(how)));
}

std::string redacted(std::string const& url) {
  return cli::value_or_raise(store_url::parse(url)).redacted();
}

void require_shareable(std::string const& url, std::int64_t processes) {
  if (url.empty() || processes == 1) return;
  if (cli::value_or_raise(store_url::parse(url)).scheme != "memory") return;
  throw command_error(exit_code::usage,
                      "memory: lives in one process; use --processes 1, or a store that processes "
                      "share (sqlite:PATH, redis://…)");
}

std::string fresh_name() {
  std::string const token = owner_token::generate().str();
  return "herdlock-lab" + token.substr(token.rfind(':'));
}

place::place(std::string url, without_url otherwise) : url_(std::move(url)) {
  if (url_.empty()) {
    start_own(otherwise);
    return;
  }
  shown_ = redacted(url_);
  try {
    // A store that cannot be used says so now, not in each process.
    store const opened = open_here(url_);
    if (opened.traits().across_processes) lock(opened, fresh_name()).inspect();
  } catch (error const& e) {
    throw command_error(cli::exit_code_of(e.code()), e.what());
  }
}

void place::start_own(without_url otherwise) {
  if (otherwise == without_url::server && knows_redis && is_installed("redis-server")) {
    try {
      auto const server = std::make_shared<herdlock_test::redis_server>();
      shown_ = "a Redis server of its own";
      url_ = server->url();
      own_ = server;
      return;
    } catch (std::exception const& e) {
      throw command_error(exit_code::unavailable,
                          "redis-server did not start: " + std::string(e.what()) +
                              "; --store URL names a server that runs");
    }
  }
  auto const folder = std::make_shared<temp_folder>();
  shown_ = "a temporary SQLite file";
  url_ = cli::sqlite_url(folder->path() / "store.db");
  own_ = folder;
  if (otherwise == without_url::file) return;
  remark_ =
      "There is no redis-server that this program can use, so this is played on a SQLite file: "
      "there the others look for an answer every few ms, and get it in steps; a server wakes them.";
}

}  // namespace herdlock::lab
