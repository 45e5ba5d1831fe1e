// What the tests share that fail a PostgreSQL server, its connections and its users.
#pragma once

#include <support/child_process.hpp>
#include <support/postgres_server.hpp>
#include <support/relay.hpp>

#include "../contract/fixture.hpp"
#include "stores/postgres/postgres_store.hpp"

namespace herdlock_test {

inline store_case const postgres{"postgres", {}, &open_postgres};

class postgres_faults : public testing::TestWithParam<std::string> {
 protected:
  static postgres_server& server() { return postgres_server::shared(); }
  std::string url(std::string const& options = "") const {
    return url_ + "&mode=" + GetParam() + options;
  }
  std::string through(relay const& by, std::string const& options = "") const {
    return postgres_server::through(url(options), server().port(), by.port());
  }
  std::string table() const { return url_.substr(url_.find("table=") + 6); }
  std::string sql(std::string const& statements) const { return server().sql(url_, statements); }
  child_process holder(std::string const& ttl_ms) const {
    return child_process(
        child_options{.argv = {HERDLOCK_LOCK_HOLDER, url(), "stock:1", ttl_ms, "hold"}});
  }
  static bool said(child_process const& by, std::string const& line) {
    return eventually([&] { return by.output().find(line) != std::string::npos; });
  }
  // Until the server has been reached again: what was lost meanwhile fails.
  template <class Ask>
  static bool in_the_end(Ask ask) {
    return eventually([&] { return ask(); });
  }
  // For a look that takes long, as it starts a process: in between the client does all that it can,
  // and not a single step.
  template <class Look>
  static bool seen(client& by, Look look) {
    return eventually([&] {
      int turns = 40;
      by.run_until([&] { return turns-- == 0; });
      return look();
    });
  }
  fencing_token granted_in_the_end(client& c, owner_token const& who) const {
    fencing_token token{};
    EXPECT_TRUE(in_the_end([&] {
      auto const reply = c.acquire(stock, who);
      if (is<grant>(reply)) token = as<grant>(reply).fencing;
      return is<grant>(reply);
    }));
    return token;
  }

  std::string const url_ = server().fresh_url();
  resource const stock{"stock:1"};
  owner_token const alice = owner_token::generate();
  owner_token const bob = owner_token::generate();
};

inline std::string mode_name(testing::TestParamInfo<std::string> const& info) { return info.param; }

}  // namespace herdlock_test
