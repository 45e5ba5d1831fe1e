#include "stores/mysql/connection.hpp"

#include <errmsg.h>
#include <fcntl.h>
#include <mysql.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "stores/common/look_up.hpp"
#include "stores/common/numbers.hpp"

namespace herdlock::mysql {
namespace {

// A wait in the server is ended from outside (abort), so this is for a peer that vanished.
constexpr unsigned longest_wait_s = 40;

char const* or_null(std::string const& text) { return text.empty() ? nullptr : text.c_str(); }

// Of these methods none shows the password to a server that does not have it already.
constexpr char const* challenges = "mysql_native_password,client_ed25519,parsec,auth_gssapi_client";

// Whoever answers may ask for the password in clear. Only a server that we know gets it: one whose
// certificate was verified, or one behind a Unix socket.
void restrict_authentication(MYSQL* handle, settings const& how) {
  bool const known = !how.socket.empty() || how.tls.security == stores::encryption::tls;
  if (!known) mysql_optionsv(handle, MARIADB_OPT_RESTRICTED_AUTH, challenges);
}

void set_security(MYSQL* handle, settings const& how) {
  restrict_authentication(handle, how);
  if (how.tls.security == stores::encryption::none) return;
  my_bool const yes = 1;
  my_bool const verify = how.tls.security == stores::encryption::tls ? 1 : 0;
  mysql_ssl_set(handle, or_null(how.tls.key_file), or_null(how.tls.certificate_file),
                or_null(how.tls.authority_file), nullptr, nullptr);
  // Without one OpenSSL would ask at the terminal for that of an encrypted key.
  mysql_optionsv(handle, MARIADB_OPT_TLS_PASSPHRASE, "herdlock knows no pass phrase");
  mysql_options(handle, MYSQL_OPT_SSL_ENFORCE, &yes);
  mysql_options(handle, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
}

// What the statements rely on, whatever the server's own settings: a COMMIT that ended the session
// would end its lock, and a server that ends a statement or a quiet transaction would do so, too. A
// wait for a lock ends before its caller's deadline where whole seconds allow it: the server then
// says what it waited for. Each server skips what stands in the other one's comment.
std::string session_settings(settings const& how) {
  auto const seconds = std::chrono::floor<std::chrono::seconds>(how.timeout * 9 / 10).count();
  std::string const lock_wait = std::to_string(std::max<std::int64_t>(seconds, 1));
  return "SET SESSION time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES', autocommit = 1, "
         "completion_type = 'NO_CHAIN', sql_safe_updates = 0, "
         "sql_select_limit = 18446744073709551615, innodb_lock_wait_timeout = " +
         lock_wait + ", lock_wait_timeout = " + lock_wait +
         " /*M!100300 , max_statement_time = 0, idle_transaction_timeout = 0, "
         "idle_readonly_transaction_timeout = 0, idle_write_transaction_timeout = 0 */"
         " /*!80000 , max_execution_time = 0 */"
         "; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE";
}

constexpr char which_server[] =
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('hostname', 'port', 'server_id', 'server_uuid', "
    "'datadir', 'wsrep_on', 'wsrep_provider', 'group_replication_group_name', "
    "'group_replication_single_primary_mode'); SHOW GLOBAL STATUS LIKE 'wsrep_cluster_state_uuid'";

}  // namespace

// Whose wait it is: the library's callback does not tell.
struct connection::in_use {
  explicit in_use(connection const& one) : before(std::exchange(current, &one)) {}
  ~in_use() { current = before; }
  in_use(in_use const&) = delete;
  in_use& operator=(in_use const&) = delete;

  static thread_local connection const* current;
  connection const* before;
};
thread_local connection const* connection::in_use::current = nullptr;

void connection::closer::operator()(st_mysql* handle) const { mysql_close(handle); }

connection::connection() : wake_(::eventfd(0, EFD_CLOEXEC)) {
  static std::once_flag library;
  std::call_once(library, [] { mysql_library_init(0, nullptr, nullptr); });
  if (wake_ >= 0) return;
  throw sql_error{bad_reply, "no file descriptor is left"};
}

void connection::open(settings const& how) {
  deadline_ = clock::now() + how.timeout;
  in_use here(*this);
  if (!how.socket.empty()) {
    begun_ = clock::now();
    connect(how, how.host);
  } else {
    auto const found = stores::look_up_here(how.host, deadline_, wake_);
    begun_ = clock::now();  // what the name led to is known from here on
    if (found.all.empty()) throw sql_error{CR_UNKNOWN_HOST, found.error};
    // The library looks for the name that it connects to in the certificate.
    // Why: docs/stores/mysql.md#the-client-library-gets-an-address
    bool const by_name = how.tls.security == stores::encryption::tls;
    connect_to(by_name ? std::vector{how.host} : found.all, how);
  }
  deadline_ = clock::time_point::max();
}

void connection::connect_to(std::vector<std::string> const& addresses, settings const& how) {
  for (auto const& each : addresses) {
    try {
      return connect(how, each);
    } catch (sql_error const& error) {
      bool const tries_next = error.is_unreachable() && clock::now() < deadline_;
      if (!tries_next || &each == &addresses.back()) throw;
    }
  }
}

// Instead of the library's own wait for its socket, on the thread that runs the statement.
// Why: docs/stores/mysql.md#opening-a-connection-ends-by-poll
int connection::wait_io(int socket, char is_read, int timeout_ms) {
  connection const* const self = in_use::current;
  if (!self) return 0;  // ask(), where nobody waits
  auto const left = self->deadline_ - clock::now();
  auto const most = std::chrono::ceil<milliseconds>(left).count();
  bool const ours = timeout_ms < 0 || most < timeout_ms;
  auto const wait = ours ? std::clamp<std::int64_t>(most, 0, INT_MAX) : timeout_ms;
  pollfd both[] = {{socket, static_cast<short>(is_read ? POLLIN : POLLOUT), 0},
                   {self->wake_, POLLIN, 0}};
  int found = 0;
  do {
    found = ::poll(both, 2, static_cast<int>(wait));
  } while (found < 0 && errno == EINTR);
  return found > 0 && both[1].revents != 0 ? 0 : found;  // 0: the time is up
}

void connection::connect(settings const& how, std::string const& address) {
  handle_.reset(mysql_init(nullptr));
  if (!handle_) throw sql_error{bad_reply, "out of memory"};
  auto const seconds =
      static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(how.timeout).count());
  unsigned const read_timeout = seconds + longest_wait_s;
  unsigned const protocol = how.socket.empty() ? MYSQL_PROTOCOL_TCP : MYSQL_PROTOCOL_SOCKET;
  unsigned const no = 0;
  mysql_options(handle_.get(), MYSQL_OPT_NONBLOCK, nullptr);
  mysql_options(handle_.get(), MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
  mysql_options(handle_.get(), MYSQL_OPT_READ_TIMEOUT, &read_timeout);
  mysql_options(handle_.get(), MYSQL_OPT_WRITE_TIMEOUT, &seconds);
  mysql_options(handle_.get(), MYSQL_OPT_PROTOCOL, &protocol);
  mysql_options(handle_.get(), MYSQL_OPT_LOCAL_INFILE, &no);
  mysql_options(handle_.get(), MYSQL_SET_CHARSET_NAME, "utf8mb4");
  mysql_options(handle_.get(), MARIADB_OPT_IO_WAIT, reinterpret_cast<void*>(&wait_io));
  set_security(handle_.get(), how);
  unsigned long const flags = CLIENT_MULTI_STATEMENTS | CLIENT_FOUND_ROWS;
  if (!mysql_real_connect(handle_.get(), address.c_str(), how.user.c_str(), how.password.c_str(),
                          or_null(how.database), how.port, or_null(how.socket), flags)) {
    fail();
  }
  id_ = mysql_thread_id(handle_.get());
  auto const socket = static_cast<int>(mysql_get_socket(handle_.get()));
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);  // a command that is run must not get a way in
  socket_ = ::fcntl(socket, F_DUPFD_CLOEXEC, 0);
  if (socket_ < 0) throw sql_error{bad_reply, "no file descriptor is left"};
  auto const told = run(session_settings(how) + "; " + which_server);
  // The two last statements.
  auto variables = told.at(told.size() - 2).rows;
  auto const& status = told.last().rows;
  variables.insert(variables.end(), status.begin(), status.end());
  server_ = identity_of(variables);
}

connection::~connection() {
  {
    in_use const here(*this);
    deadline_ = clock::now();  // it says good-bye, but waits for nobody
    handle_.reset();
  }
  if (socket_ >= 0) ::close(socket_);
  ::close(wake_);
}

sql_error connection::last_error() const {
  if (clock::now() >= deadline_) return {too_late, "the server did not answer in time"};
  return {mysql_errno(handle_.get()), mysql_error(handle_.get())};
}

outcome connection::as_outcome(st_mysql_res* stored) {
  outcome made;
  std::unique_ptr<MYSQL_RES, void (*)(MYSQL_RES*)> const rows(stored, &mysql_free_result);
  if (!rows) {
    if (mysql_field_count(handle_.get()) != 0) fail();
    made.matched = mysql_affected_rows(handle_.get());
    made.given = mysql_insert_id(handle_.get());
    return made;
  }
  unsigned const columns = mysql_num_fields(rows.get());
  while (MYSQL_ROW const raw = mysql_fetch_row(rows.get())) {
    unsigned long const* const lengths = mysql_fetch_lengths(rows.get());
    row& one = made.rows.emplace_back(columns);
    for (unsigned i = 0; i < columns; ++i) {
      if (raw[i]) one[i].emplace(raw[i], lengths[i]);
    }
  }
  return made;
}

outcomes connection::run(std::string const& statements) {
  in_use const here(*this);
  outcomes all;
  if (mysql_real_query(handle_.get(), statements.data(), statements.size()) != 0) fail();
  while (true) {
    all.add(as_outcome(mysql_store_result(handle_.get())));
    int const more = mysql_next_result(handle_.get());
    if (more > 0) fail();
    if (more < 0 && mysql_errno(handle_.get()) != 0) fail();
    if (more < 0) return all;
  }
}

bool connection::in_transaction() const {
  return (handle_->server_status & SERVER_STATUS_IN_TRANS) != 0;
}

bool connection::is_alive() const {
  pollfd one{socket_, POLLIN, 0};
  return ::poll(&one, 1, 0) == 0;
}

void connection::abort() {
  std::uint64_t const one = 1;
  if (::write(wake_, &one, sizeof one) < 0) std::abort();
  if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
}

outcome const& outcomes::at(std::size_t index) const {
  if (index < all_.size()) return all_[index];
  throw sql_error{bad_reply, "the server answered fewer statements than it was asked"};
}

row const& outcomes::row_of(std::size_t index) const {
  outcome const& one = at(index);
  if (!one.rows.empty()) return one.rows.front();
  throw sql_error{bad_reply, "the server's answer has no row"};
}

std::string joined(std::initializer_list<std::string_view> parts) {
  std::size_t size = 0;
  for (auto const each : parts) size += each.size();
  std::string made;
  made.reserve(size);
  for (auto const each : parts) made += each;
  return made;
}

std::string literal(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string made;
  made.reserve(2 * bytes.size() + 3);
  made += "x'";
  for (char c : bytes) {
    auto const byte = static_cast<unsigned char>(c);
    made += digits[byte >> 4];
    made += digits[byte & 15];
  }
  made += '\'';
  return made;
}

std::int64_t number(row const& from, std::size_t column) {
  if (auto const value = whole_number<std::int64_t>(text(from, column))) return *value;
  throw sql_error{bad_reply, "the server's answer is not a number"};
}

std::string text(row const& from, std::size_t column) {
  if (column < from.size() && from[column]) return *from[column];
  throw sql_error{bad_reply, "the server's answer lacks a value"};
}

}  // namespace herdlock::mysql
