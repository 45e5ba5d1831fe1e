#include "stores/mysql/mysql_store.hpp"

#include <map>

#include "stores/common/clock_skew.hpp"
#include "stores/mysql/connection.hpp"

namespace herdlock {
namespace mysql {
namespace {

constexpr char const* all_variables =
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'super_read_only', "
    "'innodb_read_only', 'wsrep_on', 'wsrep_provider', 'innodb_flush_log_at_trx_commit', "
    "'innodb_rollback_on_timeout', 'wait_timeout', 'version')";

class server_check {
 public:
  server_check(settings const& how, examination& into)
      : how_(how), into_(into), at_("the server at " + how.address()) {}

  void make() {
    try {
      connection db;
      db.open(how_);
      into_.pass("mysql.reachable");
      outcomes const told = db.run(all_variables);
      told_ = told.last().rows;
      for (auto const& one : told_) {
        if (one.size() == 2) says_[one[0].value_or("")] = one[1].value_or("");
      }
      read_only();
      galera();
      durability();
      time_outs();
      skew(db);
      rights(db);
    } catch (sql_error const& error) {
      if (error.is_refused_database() && told_.empty()) return refused(error);
      unreachable(error);
    }
  }

 private:
  bool is_on(char const* name) const {
    auto const at = says_.find(name);
    return at != says_.end() && (at->second == "ON" || at->second == "1");
  }
  bool is_closed() const {
    return is_on("read_only") || is_on("super_read_only") || is_on("innodb_read_only");
  }
  bool holds_sessions() const { return how_.mode != lock_mode::table; }
  void unreachable(sql_error const& error) {
    into_.find({"mysql.reachable", severity::error, to_failure(error, "look", how_).message,
                "there is no lock to be had", "start the server, or put the URL right"});
  }
  void refused(sql_error const& error) {
    try {
      look_without_database(error);
    } catch (sql_error const&) {
      unreachable(error);
    }
  }

  void read_only() {
    into_.expect(!is_closed(), {"mysql.read_only", severity::error, at_ + " is read-only",
                                "no lease can be written there",
                                "name the primary, or SET GLOBAL read_only = OFF"});
  }
  void galera() {
    bool const cluster = cluster_of(told_) == "a Galera cluster";
    if (how_.mode == lock_mode::table) {
      return into_.expect(
          !cluster, {"mysql.galera", severity::warning, at_ + " is a node of a Galera cluster",
                     "two nodes may each take a lease and find out at the commit: "
                     "one of them fails and asks again, which costs time",
                     "let all herdlocks use the same node"});
    }
    into_.expect(!cluster, {"mysql.galera", severity::error,
                            at_ + " is a node of a Galera cluster, and the URL asks for mode=" +
                                (how_.mode == lock_mode::named ? "named" : "row"),
                            "GET_LOCK and row locks are of one node: clients of two nodes hold at "
                            "once",
                            "use mode=table"});
  }
  void durability() {
    auto const at = says_.find("innodb_flush_log_at_trx_commit");
    if (at == says_.end() || how_.mode == lock_mode::named) return;
    into_.expect(at->second == "1",
                 {"mysql.durability", severity::warning,
                  at_ + " has innodb_flush_log_at_trx_commit = " + at->second,
                  "a crash forgets the grants of the last second, and gives them to others while "
                  "their holders still work",
                  "set it to 1"});
  }
  void time_outs() {
    if (how_.mode == lock_mode::row) {
      into_.expect(!is_on("innodb_rollback_on_timeout"),
                   {"mysql.rollback_on_timeout", severity::warning,
                    at_ + " has innodb_rollback_on_timeout = ON",
                    "a wait that is over rolls the whole transaction back, and with it other "
                    "locks of the session",
                    "set it to OFF, or use mode=table"});
    }
    auto const at = says_.find("wait_timeout");
    if (!holds_sessions() || at == says_.end()) return;
    into_.expect(std::stoll("0" + at->second) >= 60,
                 {"mysql.wait_timeout", severity::warning,
                  at_ + " ends sessions that are silent for " + at->second + " s",
                  "a lease with a long ttl is silent for a third of it; its lock ends with its "
                  "session",
                  "set wait_timeout to 28800, its default, for this user"});
  }
  void skew(connection& db) {
    auto const before = wall_clock_us();
    auto const server =
        number(db.run("SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)").row_of(0), 0);
    check_skew(into_, "mysql.clock", how_.address(), skew_of(server, before, wall_clock_us()));
  }
  // Statements that find nothing, so that nothing changes. Without the tables: one that fails in
  // any case, and tells first when the right to make them is missing.
  void rights(connection& db) {
    if (is_closed()) return into_.skip("mysql.rights", "the server is read-only");
    std::string missing;
    auto const denied = [&](std::string const& statement) {
      try {
        db.run(statement);
      } catch (sql_error const& error) {
        if (error.is_missing_table()) return true;
        if (!error.is_refused_right()) throw;
        missing += (missing.empty() ? "" : "; ") + error.text;
      }
      return false;
    };
    bool absent = false;
    for (auto const& table : how_.tables()) {
      std::string const name = "`" + table + "`";
      bool const none = denied("SELECT 1 FROM " + name + " WHERE 1 = 0");
      absent = absent || none;
      if (none) {
        denied("CREATE TABLE " + name + " LIKE `" + table + "_none`");
        continue;
      }
      denied("INSERT INTO " + name + " SELECT * FROM " + name + " WHERE 1 = 0");
      denied("UPDATE " + name + " SET resource = resource WHERE 1 = 0");
      denied("DELETE FROM " + name + " WHERE 1 = 0");
    }
    if (absent && missing.empty()) return into_.skip("mysql.rights", "there is no table yet");
    into_.expect(missing.empty(), rights_are_missing(db, missing));
  }
  finding rights_are_missing(connection& db, std::string const& why) const {
    auto const account = db.run("SELECT CURRENT_USER()").row_of(0).at(0).value_or("");
    return {"mysql.rights", severity::error, "the user may not do all that it has to: " + why,
            "leases cannot be kept there",
            "let an administrator run:\n" + how_.set_up_script(account)};
  }
  // Who may not even name the database may log in without one, to be told its account.
  void look_without_database(sql_error const& error) {
    auto elsewhere = how_;
    elsewhere.database.clear();
    connection db;
    db.open(elsewhere);
    into_.pass("mysql.reachable");
    into_.find(rights_are_missing(db, error.text));
  }

  settings const& how_;
  examination& into_;
  std::string const at_;
  std::vector<row> told_;
  std::map<std::string, std::string, std::less<>> says_;
};

}  // namespace
}  // namespace mysql

result<examination> examine_mysql(store_url url) {
  auto const how = mysql::parse_settings(std::move(url));
  if (how.has_error()) return how.error();
  examination made;
  mysql::server_check(*how, made).make();
  return made;
}

}  // namespace herdlock
