#include "stores/postgres/postgres_store.hpp"

#include <boost/asio/io_context.hpp>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>

#include "stores/common/clock_skew.hpp"
#include "stores/common/numbers.hpp"
#include "stores/postgres/connection.hpp"
#include "stores/postgres/schema_choice.hpp"
#include "stores/postgres/set_up_script.hpp"

namespace herdlock {
namespace postgres {
namespace {

struct query_failed {
  std::string text;
};

// A standby is looked at, too.
settings of_any_kind(settings how) {
  how.parameters.emplace_back("target_session_attrs", "any");
  return how;
}

// A connection of its own, for looking only: each question blocks until it is answered. Each step
// has the settings' timeout, and the first that takes longer is the last.
class exam_session {
 public:
  explicit exam_session(settings const& how)
      : connection_(std::make_shared<connection>(io_.get_executor(), of_any_kind(how), opening_)) {
    connection_->open();
    while (!opening_->over && io_.run_one() > 0) {
    }
    if (opening_->failed) throw query_failed{opening_->failed->message};
    run("SET statement_timeout = " + std::to_string(how.timeout.count()));
  }

  // The first column of the first row; empty when there is none.
  std::string run(std::string const& sql) {
    std::optional<answer> told;
    connection_->run_script(sql, [&told](answer found) { told = std::move(found); });
    while (!told && io_.run_one() > 0) {
    }
    if (!told) throw query_failed{"the connection is closed"};
    if (!*told) throw query_failed{told->error().message};
    return (*told)->count() > 0 ? std::string((*told)->text(0, 0)) : std::string();
  }
  std::string setting(std::string const& name) {
    return run("SELECT coalesce(current_setting('" + name + "', true), '')");
  }
  std::string announced_pid() const { return std::to_string(connection_->backend_pid()); }

 private:
  struct opening final : connection_listener {
    void on_open(std::optional<sql_error> why) override {
      over = true;
      failed = std::move(why);
    }
    bool over = false;
    std::optional<sql_error> failed;
  };

  asio::io_context io_;
  std::shared_ptr<opening> const opening_ = std::make_shared<opening>();
  std::shared_ptr<connection> const connection_;
};

// What the URL names has nothing in it that would have to be escaped.
std::string quoted(std::string const& name) { return "'" + name + "'"; }

class server_check {
 public:
  server_check(settings const& how, examination& into)
      : how_(how), into_(into), address_(how.host + (how.port.empty() ? "" : ":" + how.port)) {}

  void make() {
    try {
      exam_session db(how_);
      into_.pass("postgres.reachable");
      recovery(db);
      durability(db);
      time_outs(db);
      skew(db);
      rights(db);
      schema(db);
      pooling(db);
    } catch (query_failed const& why) {
      into_.find({"postgres.reachable", severity::error, why.text, "there is no lock to be had",
                  "start the server, or put the URL right"});
    }
  }

 private:
  std::string at() const { return "the server at " + address_; }

  void recovery(exam_session& db) {
    bool const standby = db.run("SELECT pg_is_in_recovery()") == "t";
    into_.expect(!standby, {"postgres.standby", severity::error, at() + " is a hot standby",
                            "no lease can be written there; advisory locks there exclude nobody "
                            "at the primary",
                            "name the primary, or several hosts with "
                            "target_session_attrs=read-write"});
    if (standby) return;
    into_.expect(
        db.setting("default_transaction_read_only") != "on",
        {"postgres.read_only", severity::error, at() + " makes this user's transactions read-only",
         "no lease can be written there", "ALTER ROLE … SET default_transaction_read_only = off"});
  }
  void durability(exam_session& db) {
    if (how_.mode == lock_mode::advisory) return;
    into_.expect(db.setting("synchronous_commit") != "off",
                 {"postgres.synchronous_commit", severity::warning,
                  at() + " has synchronous_commit = off for this user",
                  "a crash forgets the grants of the last moments, and gives them to others while "
                  "their holders still work",
                  "ALTER ROLE … SET synchronous_commit = on"});
    into_.expect(db.setting("fsync") != "off",
                 {"postgres.fsync", severity::warning, at() + " has fsync = off",
                  "a crash of the machine forgets grants, or damages all data", "set fsync = on"});
  }
  void time_outs(exam_session& db) {
    if (how_.mode == lock_mode::table) return;
    std::string ends;
    for (char const* name : {"idle_session_timeout", "idle_in_transaction_session_timeout"}) {
      auto const value = db.setting(name);
      if (!value.empty() && value != "0") ends += " " + std::string(name) + " = " + value;
    }
    into_.expect(ends.empty(), {"postgres.idle_timeout", severity::warning, at() + " has" + ends,
                                "the lock of a lease with a long ttl ends with its idle session",
                                "set them to 0 for this user, or use mode=table"});
  }
  void skew(exam_session& db) {
    auto const before = wall_clock_us();
    auto const text =
        db.run("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint::text");
    auto const server = whole_number<std::int64_t>(text).value_or(0);
    check_skew(into_, "postgres.clock", address_, skew_of(server, before, wall_clock_us()));
  }
  // Some of what is missing shows only after a crash of the server, when the tokens leap.
  void rights(exam_session& db) {
    bool const named = how_.table.find('.') != std::string::npos;
    table_user const user{db.run("SELECT quote_ident(current_user)"),
                          db.run("SELECT quote_ident(current_schema())")};
    if (!named && user.schema.empty()) {
      return into_.find({"postgres.rights", severity::error,
                         "no schema of the search_path of " + user.name +
                             " is there, or may be used: " + db.setting("search_path"),
                         "leases cannot be kept there",
                         "write table=SCHEMA.herdlock_leases in the store's URL, or ALTER ROLE … "
                         "SET search_path"});
    }
    auto const missing = missing_rights(db);
    into_.expect(
        missing.text.empty(),
        {"postgres.rights", severity::error, "the user " + user.name + " may not" + missing.text,
         "leases cannot be kept there, or not after a crash of the server",
         "in the database " + db.run("SELECT current_database()") + " let somebody who may run:\n" +
             (missing.tables ? set_up_script(how_, user) : grant_script(how_, user))});
  }
  struct missing_parts {
    std::string text{};
    bool tables = false;  // they are still to be made
  };
  missing_parts missing_rights(exam_session& db) {
    auto const may_use = [&](std::string const& schema) {
      return db.run(
                 "SELECT coalesce(bool_and(has_schema_privilege(oid, 'USAGE')), false) FROM"
                 " pg_namespace WHERE nspname = '" +
                 schema + "'") == "t";
    };
    auto const dot = how_.table.find('.');
    if (dot != std::string::npos && !may_use(how_.table.substr(0, dot))) {
      return {" USAGE of the schema " + how_.table.substr(0, dot), true};
    }
    if (db.run(tables_query(how_)) != "t") return missing_to_create(db);
    missing_parts all;
    auto const look = [&](char const* kind, std::vector<std::string> const& of,
                          std::initializer_list<char const*> rights) {
      for (auto const& name : of) {
        auto const object = kind == std::string_view("function")
                                ? "to_regproc(" + quoted(name) + ")::oid"
                                : quoted(name);
        std::string lacking;
        for (std::string const right : rights) {
          auto const sql =
              "has_" + std::string(kind) + "_privilege(" + object + ", '" + right + "')";
          if (db.run("SELECT " + sql) != "t") lacking += " " + right;
        }
        if (lacking.empty()) continue;
        all.text += (all.text.empty() ? "" : ",") + lacking + " on " + name;
      }
    };
    auto const needed = rights_of(how_);
    look("table", needed.tables, {"SELECT", "INSERT", "UPDATE", "DELETE"});
    look("sequence", needed.sequences, {"USAGE", "UPDATE"});
    look("function", needed.functions, {"EXECUTE"});
    return all;
  }
  missing_parts missing_to_create(exam_session& db) {
    auto const dot = how_.table.find('.');
    auto const schema = dot == std::string::npos ? std::string("current_schema()")
                                                 : quoted(how_.table.substr(0, dot));
    // What there is of it already may be changed by its owner only.
    if (db.run("SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass(" +
               quoted(how_.table) + ")") == "f") {
      return {" change the table " + how_.table +
                  ", which another owns, and which lacks functions of this version",
              true};
    }
    if (db.run("SELECT has_schema_privilege(" + schema + ", 'CREATE')") == "t") return {};
    return {" CREATE in the schema, where the table " + how_.table + " is still to be made", true};
  }
  void schema(exam_session& db) {
    auto const told = [&](char const* column) {
      return db.run("SELECT " + std::string(column) + " FROM (" + schema_choice_query(how_) +
                    ") p(schema, database, by_user)");
    };
    chosen_schema const where{told("schema"), told("database"), told("by_user") == "t"};
    if (where.schema.empty()) return into_.skip("postgres.schema", "there are no tables yet");
    into_.note(where.in_words(how_));
    into_.expect(!where.by_user,
                 {"postgres.schema", severity::warning, where.in_words(how_), consequence_of(how_),
                  "write " + qualified_option(how_, where) + " in the store's URL of all of them"});
  }
  // A pooler makes up the number that it announces. In transaction mode, a second client's
  // transaction gets the connection that the first one's last statement ran on.
  void pooling(exam_session& db) {
    auto const first = db.run("SELECT pg_backend_pid()");
    exam_session other(how_);
    other.run("BEGIN");
    auto const theirs = other.run("SELECT pg_backend_pid()");
    auto const again = db.run("SELECT pg_backend_pid()");
    other.run("COMMIT");
    bool const shared = first == theirs || first != again;
    into_.expect(!shared,
                 {"postgres.pooler", severity::error,
                  "a pooler at " + address_ + " gives each transaction another connection",
                  how_.mode == lock_mode::table
                      ? "LISTEN is lost, and waiters hear of a release late"
                      : "locks belong to connections: they are kept by strangers and freed by "
                        "chance",
                  "connect to the server itself, or set pool_mode = session for this user"});
    if (shared) return;
    into_.expect(first == db.announced_pid(),
                 {"postgres.proxy", severity::warning,
                  "there is a proxy between us and the server at " + address_,
                  "locks hold as long as it keeps one connection for each client",
                  "connect to the server itself, or see to pool_mode = session"});
  }

  settings const& how_;
  examination& into_;
  std::string const address_;
};

}  // namespace
}  // namespace postgres

result<examination> examine_postgres(store_url url) {
  auto const how = postgres::take_settings(std::move(url));
  if (how.has_error()) return how.error();
  examination made;
  postgres::server_check(*how, made).make();
  return made;
}

}  // namespace herdlock
