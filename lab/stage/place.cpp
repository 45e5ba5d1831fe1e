#include "stage/place.hpp"

#include <fmt/format.h>

#include <herdlock/lock.hpp>
#include <herdlock/types.hpp>
#include <herdlock/url.hpp>
#include <optional>
#include <stdexcept>
#include <support/child_process.hpp>
#include <support/redis_server.hpp>

#include "stage/temp_folder.hpp"
#include "terminal/exit_code.hpp"
#include "terminal/store_argument.hpp"

namespace herdlock::lab {

using cli::command_error;
using cli::exit_code;

struct place::own_place {
  std::optional<herdlock_test::redis_server> server;
  std::optional<temp_folder> folder;
};

namespace {

bool is_installed(char const* program) {
  try {
    herdlock_test::find_program(program, program);
    return true;
  } catch (std::runtime_error const&) {
    return false;
  }
}

// A store that cannot be used says so now, not in each process.
void require_usable(std::string const& url) {
  store const opened = open_here(url);
  if (!opened.traits().across_processes) return;
  lock(opened, fresh_name()).inspect();
}

}  // namespace

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

std::string fresh_name() { return "herdlock-lab:" + owner_token::generate().str(); }

store open_here(std::string const& url, open_options how) {
  return cli::value_or_raise(stores().try_open(url, std::move(how)));
}

place::place(std::string url, without_url otherwise) : url_(std::move(url)) {
  if (url_.empty()) {
    start_own(otherwise);
    return;
  }
  shown_ = redacted(url_);
  try {
    require_usable(url_);
  } catch (error const& e) {
    throw command_error(cli::exit_code_of(e.code()), e.what());
  }
}

place::~place() = default;

void place::start_own(without_url otherwise) {
  own_ = std::make_unique<own_place>();
  if (otherwise == without_url::server && is_installed("redis-server")) {
    shown_ = "a Redis server of its own";
    try {
      url_ = own_->server.emplace().url();
    } catch (std::exception const& e) {
      throw command_error(exit_code::unavailable,
                          fmt::format("redis-server did not start: {}; --store URL names a server "
                                      "that runs",
                                      e.what()));
    }
    return;
  }
  url_ = cli::sqlite_url(own_->folder.emplace().path() / "store.db");
  shown_ = "a temporary SQLite file";
  if (otherwise == without_url::file) return;
  remark_ =
      "No redis-server is installed, so this is played on a SQLite file: there the others look "
      "for an answer every few ms, and get it in steps; a server wakes them.";
}

}  // namespace herdlock::lab
