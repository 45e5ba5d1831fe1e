#include <algorithm>

#include "stores/mysql/session_protocol.hpp"

namespace herdlock::mysql {
namespace {

constexpr std::size_t max_plain_name = 64;
constexpr std::string_view hash_mark = "herd:";
constexpr int looks_for_a_row = 10;

// The server compares such names without regard to case (and of old, to trailing blanks), so only
// names in which that makes no difference stand for themselves.
bool is_plain(std::string const& name) {
  auto const plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("_-.:/").find(c) != std::string_view::npos;
  };
  return name.size() <= max_plain_name && !name.starts_with(hash_mark) &&
         std::ranges::all_of(name, plain);
}

std::string server_name(resource const& name) {
  if (is_plain(name.str())) return "'" + name.str() + "'";
  return "CONCAT('" + std::string(hash_mark) + "', SHA2(" + literal(name.str()) + ", 224))";
}

class named_protocol final : public session_protocol {
 public:
  explicit named_protocol(store_state& state) : state_(state) {}

  awaitable<lock_result> take(connection& session, lock_request const& wanted) override {
    auto const done = co_await session.ask(take_sql(session, wanted));
    keep_idle_timeout(session, wanted.ttl);
    if (done.last().matched > 0) co_return fencing_token{done.last().given};
    // A lock is counted at the server, so it is not asked for again where it may be ours.
    if (wanted.wait.count() == 0) co_await session.ask("SELECT " + get_lock(wanted));
    co_return co_await record(session, wanted);
  }

  awaitable<fencing_token> hand_over(connection& session, lock_request const& next) override {
    std::string const write =
        record_again_sql(how(), next, "CONNECTION_ID()", ours(server_name(next.name)));
    auto const done = co_await session.ask(new_idle_timeout_sql(session, next.ttl) + write);
    keep_idle_timeout(session, next.ttl);
    if (done.last().matched > 0) co_return fencing_token{done.last().given};
    auto const taken = co_await record(session, next);  // the row was swept
    if (auto const* token = std::get_if<fencing_token>(&taken)) co_return *token;
    throw sql_error{bad_reply, "the session has lost its lock"};
  }

  awaitable<bool> renew(connection& session, held_lock const& what, milliseconds ttl) override {
    auto const done =
        co_await session.ask(idle_timeout_sql(ttl) + "; " + renew_sql(how(), what, ttl) +
                             "; SELECT COALESCE(" + ours(server_name(what.name)) + ", 0)");
    keep_idle_timeout(session, ttl);
    co_return done.at(1).matched > 0 && number(done.row_of(2), 0) == 1;
  }

  // The row stays as it is: it counts while the session that it names has the lock.
  awaitable<bool> release(connection& session, held_lock const& what) override {
    auto const done =
        co_await session.ask("SELECT COALESCE(RELEASE_LOCK(" + server_name(what.name) + "), 0)");
    co_return number(done.row_of(0), 0) == 1;
  }

  // The lock is had a moment before its row is written: who has just taken it gets a few looks
  // before it counts as a client of another kind.
  awaitable<std::optional<lease_info>> inspect(connection& db, resource const& name) override {
    for (int looks = 1;; ++looks) {
      sight const seen = co_await look(db, name);
      if (seen.user == 0 || (seen.row && !seen.row->held())) co_return std::nullopt;
      if (seen.row) co_return as_lease_info(*seen.row);
      if (looks == looks_for_a_row) co_return lease_info{"another client", {}, {}};
      co_await pause(milliseconds{2});
    }
  }

  awaitable<bool> is_held(connection& db, resource const& name) override {
    sight const seen = co_await look(db, name);
    co_return seen.user != 0 && (!seen.row || seen.row->held());
  }

  awaitable<bool> force_release(connection& db, resource const& name,
                                clock::time_point deadline) override {
    auto const user = co_await user_of(db, name);
    if (user == 0) co_return false;
    co_await end_session(db, user);
    while (true) {
      auto const now_with = co_await user_of(db, name);
      if (now_with != user) co_return true;
      if (clock::now() >= deadline) throw sql_error{bad_reply, "its session does not end"};
      co_await pause(milliseconds{1});
    }
  }

  awaitable<void> check_server(connection& db) override {
    return refuse_cluster(db, "mode=named (GET_LOCK)");
  }

 private:
  settings const& how() const { return state_.how; }
  static std::string ours(std::string const& lock) {
    return "IS_USED_LOCK(" + lock + ") = CONNECTION_ID()";
  }

  static std::string get_lock(lock_request const& wanted) {
    return "GET_LOCK(" + server_name(wanted.name) + ", " + std::to_string(wanted.wait.count()) +
           ")";
  }

  // One round trip as a rule. Who does not wait takes the lock while the row is being written; who
  // waits must not keep the row's own lock meanwhile: each statement begins when the one before it
  // has ended, so the row is written when the lock is ours, and only then.
  std::string take_sql(connection const& session, lock_request const& wanted) const {
    std::string const first = new_idle_timeout_sql(session, wanted.ttl);
    if (wanted.wait.count() == 0) {
      return first + record_again_sql(how(), wanted, "CONNECTION_ID()", get_lock(wanted) + " = 1");
    }
    return first + "SELECT " + get_lock(wanted) + "; " +
           record_again_sql(how(), wanted, "CONNECTION_ID()", ours(server_name(wanted.name)));
  }

  // The row is written if the lock is ours; else it tells who has it.
  awaitable<lock_result> record(connection& session, lock_request const& wanted) const {
    std::string const lock = server_name(wanted.name);
    auto const done =
        co_await session.ask(record_sql(how(), wanted, "CONNECTION_ID()", ours(lock)) + "; " +
                             read_sql(how().table, wanted.name) + "; " + user_sql(wanted.name));
    auto const user = static_cast<std::uint64_t>(number(done.row_of(2), 0));
    auto const found = as_lease_row(done.at(1));
    bool const told = found && found->session == user;
    if (user == session.id() && told) co_return found->fencing;
    if (user == session.id()) throw sql_error{bad_reply, "the row of the lease is missing"};
    if (told && found->held()) co_return holder_info{owner_label(found->owner), found->remaining()};
    co_return holder_info{user != 0 ? "another client" : "", {}};
  }

  // The session that has the lock (0: none), and the row that it wrote, if it did.
  struct sight {
    std::uint64_t user = 0;
    std::optional<lease_row> row{};
  };
  awaitable<sight> look(connection& db, resource const& name) const {
    sight seen;
    seen.user = co_await user_of(db, name);
    if (seen.user == 0) co_return seen;
    auto const told = co_await db.ask(read_sql(how().table, name));
    seen.row = as_lease_row(told.at(0));
    if (seen.row && seen.row->session != seen.user) seen.row.reset();
    co_return seen;
  }

  static awaitable<std::uint64_t> user_of(connection& db, resource const& name) {
    auto const done = co_await db.ask(user_sql(name));
    co_return static_cast<std::uint64_t>(number(done.row_of(0), 0));
  }
  static std::string user_sql(resource const& name) {
    return "SELECT COALESCE(IS_USED_LOCK(" + server_name(name) + "), 0)";
  }

  store_state& state_;
};

}  // namespace

std::unique_ptr<session_protocol> make_named_protocol(store_state& state) {
  return std::make_unique<named_protocol>(state);
}

}  // namespace herdlock::mysql
