#include "stores/postgres/connection.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <string_view>
#include <utility>

#include "stores/common/numbers.hpp"

namespace herdlock::postgres {
namespace {

// libpq ends its messages with a newline and some have more than one line.
std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (auto& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return text;
}

// Without one OpenSSL would ask at the terminal for that of an encrypted key, and the thread would
// wait there. Of a key that is not encrypted nobody asks.
constexpr char no_pass_phrase[] = "none was given";

// libpq goes on without a file that is not there: it shows no certificate then, and takes any
// server with sslmode=require. A file that the URL names is meant, also while it is being replaced.
std::optional<sql_error> missing_file(settings const& what) {
  auto const& all = what.parameters;
  // With prefer and allow it verifies nobody, and goes on without TLS.
  auto const is_off = [](auto const& one) {
    return one.first == "sslmode" &&
           (one.second == "disable" || one.second == "prefer" || one.second == "allow");
  };
  if (what.host.front() == '/' || std::ranges::any_of(all, is_off)) return std::nullopt;
  for (auto const& [name, file] : all) {
    bool const is_file = name == "sslcert" || name == "sslrootcert" || name == "sslcrl";
    if (!is_file || file == "system" || ::access(file.c_str(), F_OK) == 0) continue;
    return sql_error{"", name + ": the file \"" + file + "\" does not exist"};
  }
  return std::nullopt;
}

answer to_answer(PGresult* result) {
  rows owned(result);
  auto const status = PQresultStatus(result);
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return owned;
  char const* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  char const* text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  char const* hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);
  std::string message = text ? text : one_line(PQresultErrorMessage(result));
  if (hint) message += std::string("; ") + hint;
  char const* severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  std::string_view const how = severity ? severity : "";
  return sql_error{state ? state : "", one_line(std::move(message)),
                   how == "FATAL" || how == "PANIC"};
}

}  // namespace

connection::connection(asio::any_io_executor executor, settings const& what,
                       std::weak_ptr<connection_listener> listener)
    : executor_(std::move(executor)),
      what_(what),
      listener_(std::move(listener)),
      open_timer_(executor_),
      watch_timer_(executor_) {}

connection::~connection() { socket_.reset(); }

// libpq resolves names with a blocking call, so that is done here; it still gets the name, for
// certificates and the password file.
void connection::open() {
  auto const self = shared_from_this();
  open_timer_.expires_after(what_.timeout);
  open_timer_.async_wait([self](boost::system::error_code ec) {
    if (ec) return;
    self->opened(sql_error{"", "no connection within " + in_ms(self->what_.timeout)});
  });
  if (what_.host.front() == '/') return asio::post(executor_, [self] { self->start_libpq(""); });
  // A little before the time is up: its answer tells more.
  auto const until = clock::now() + what_.timeout - what_.timeout / 20;
  auto const on_found = [self](stores::found_addresses const& found) {
    if (self->over_) return;
    if (found.all.empty()) return self->opened(sql_error{"", found.error});
    std::string addresses;
    for (auto const& each : found.all) addresses += (addresses.empty() ? "" : ",") + each;
    self->start_libpq(addresses);
  };
  look_up_ = stores::look_up::start(executor_, what_.host, until, on_found);
}

void connection::start_libpq(std::string const& addresses) {
  if (over_) return;
  if (auto missing = missing_file(what_)) return opened(std::move(missing));
  std::string hosts = what_.host;
  for (char const c : addresses) {
    if (c == ',') hosts += "," + what_.host;
  }
  // A wait of an hour sends nothing: whatever lies in between may have dropped the connection.
  std::vector<std::pair<std::string, std::string>> all{{"host", hosts},
                                                       {"port", what_.port},
                                                       {"client_encoding", "UTF8"},
                                                       {"fallback_application_name", "herdlock"},
                                                       {"keepalives_idle", "10"},
                                                       {"keepalives_interval", "5"},
                                                       {"keepalives_count", "3"},
                                                       {"sslpassword", no_pass_phrase}};
  if (!addresses.empty()) all.emplace_back("hostaddr", addresses);
  // A host that has several addresses may name a standby first. With a single one there is no
  // choice, and libpq would believe what a pooler has kept of what the server was once.
  if (hosts != what_.host) all.emplace_back("target_session_attrs", "primary");
  // What the URL says comes later, and counts.
  all.insert(all.end(), what_.parameters.begin(), what_.parameters.end());
  std::vector<char const*> keys, values;
  for (auto const& [key, value] : all) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
  }
  keys.push_back(nullptr);
  values.push_back(nullptr);
  handle_.reset(PQconnectStartParams(keys.data(), values.data(), 0));
  if (!handle_ || PQstatus(handle_.get()) == CONNECTION_BAD) return opened(last_error());
  PQsetNoticeProcessor(handle_.get(), &connection::keep_notice, this);
  wait_open(descriptor::wait_write);
}

// A copy of the descriptor: libpq may close its own between two polls.
bool connection::adopt_socket() {
  int const copy = ::fcntl(PQsocket(handle_.get()), F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return false;
  socket_.emplace(executor_, copy);
  return true;
}

void connection::wait_open(descriptor::wait_type what) {
  if (!adopt_socket()) return opened(sql_error{"", "no file descriptor is left"});
  socket_->async_wait(what, [self = shared_from_this()](boost::system::error_code ec) {
    if (!ec && !self->over_) self->poll_open();
  });
}

void connection::poll_open() {
  switch (PQconnectPoll(handle_.get())) {
    case PGRES_POLLING_READING:
      return wait_open(descriptor::wait_read);
    case PGRES_POLLING_WRITING:
      return wait_open(descriptor::wait_write);
    case PGRES_POLLING_OK:
      break;
    default:
      return opened(last_error());
  }
  if (!adopt_socket() || PQsetnonblocking(handle_.get(), 1) != 0) return opened(last_error());
  opened(std::nullopt);
}

void connection::opened(std::optional<sql_error> failed) {
  if (over_) return;
  open_timer_.cancel();
  open_ = !failed;
  if (open_) {
    listen();
  } else {
    close();
  }
  if (auto const listener = listener_.lock()) listener->on_open(std::move(failed));
}

sql_error connection::last_error() const {
  std::string text = handle_ ? PQerrorMessage(handle_.get()) : "the connection is closed";
  if (!notice_.empty()) text += " (" + notice_ + ")";
  return {"", one_line(std::move(text))};
}

void connection::keep_notice(void* self, char const* text) {
  static_cast<connection*>(self)->notice_ = one_line(text);
}

void connection::add(on_answer done, patience how_long) {
  std::optional<clock::time_point> due;
  if (how_long) due = clock::now() + *how_long;
  pending_.push_back({std::move(done), due});
  if (pending_.size() == 1) watch();
}

void connection::sent(int accepted) {
  if (accepted != 1 || (pipeline_ && PQpipelineSync(handle_.get()) != 1)) {
    return end_later(last_error());
  }
  flush();
}

void connection::run_script(std::string const& sql, on_answer done) {
  add(std::move(done), what_.timeout);
  sent(over_ ? 0 : PQsendQuery(handle_.get(), sql.c_str()));
}

void connection::start_pipeline() {
  pipeline_ = true;
  if (PQenterPipelineMode(handle_.get()) != 1) end_later(last_error());
}

void connection::prepare(std::string const& name, std::string const& sql, on_answer done) {
  add(std::move(done), what_.timeout);
  sent(over_ ? 0 : PQsendPrepare(handle_.get(), name.c_str(), sql.c_str(), 0, nullptr));
}

void connection::run(statement const& what, patience how_long, on_answer done) {
  add(std::move(done), how_long);
  sent(over_ ? 0 : put(what));
}

void connection::run_together(std::vector<statement> const& all, patience how_long,
                              on_answer done) {
  add(std::move(done), how_long);
  sent(!over_ && std::ranges::all_of(all, [this](auto const& each) { return put(each) == 1; }));
}

int connection::put(statement const& what) {
  auto const count = what.parameters.size();
  boost::container::small_vector<char const*, 8> values(count);
  boost::container::small_vector<int, 8> lengths(count), formats(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto const& each = what.parameters[i];
    values[i] = each.value.c_str();
    lengths[i] = static_cast<int>(each.value.size());
    formats[i] = static_cast<int>(each.how);
  }
  int const n = static_cast<int>(count);
  auto* const to = handle_.get();
  if (what.name.empty()) {
    return PQsendQueryParams(to, what.sql.c_str(), n, nullptr, values.data(), lengths.data(),
                             formats.data(), 0);
  }
  return PQsendQueryPrepared(to, what.name.c_str(), n, values.data(), lengths.data(),
                             formats.data(), 0);
}

void connection::flush() {
  if (flushing_ || over_) return;
  int const left = PQflush(handle_.get());
  if (left == 0) return;
  if (left < 0) return end_later(last_error());
  flushing_ = true;
  socket_->async_wait(descriptor::wait_write, [self = shared_from_this()](auto ec) {
    self->flushing_ = false;
    if (!ec && !self->over_) self->flush();
  });
}

// The handler must not keep the connection alive: it waits as long as the connection lives.
void connection::listen() {
  socket_->async_wait(descriptor::wait_read, [weak = weak_from_this()](auto ec) {
    auto const self = weak.lock();
    if (self && !ec && !self->over_) self->on_readable();
  });
}

void connection::on_readable() {
  bool const read = PQconsumeInput(handle_.get()) == 1;
  if (pipeline_) {
    read_pipeline();
  } else {
    read_script();
  }
  if (over_) return;
  read_notifications();
  if (over_) return;
  if (!read || PQstatus(handle_.get()) == CONNECTION_BAD) return end(last_error());
  flush();
  if (!over_) listen();
}

// Of each statement: its result and a null pointer; behind those that were sent together, the mark
// of their end. The first error counts.
void connection::read_pipeline() {
  int nothing = 0;
  while (!over_ && !pending_.empty() && nothing < 2 && PQisBusy(handle_.get()) == 0) {
    PGresult* const result = PQgetResult(handle_.get());
    if (result == nullptr) {
      ++nothing;
      continue;
    }
    nothing = 0;
    if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
      PQclear(result);
      finish_front();
    } else {
      take_result(result);
    }
  }
}

// Of a script: a result for each of its statements, then a null pointer. The first error counts.
void connection::read_script() {
  while (!over_ && !pending_.empty() && PQisBusy(handle_.get()) == 0) {
    PGresult* const result = PQgetResult(handle_.get());
    if (result == nullptr) return finish_front();
    take_result(result);
  }
}

void connection::take_result(PGresult* result) {
  auto next = to_answer(result);
  auto& kept = pending_.front().reply;
  if (!kept || kept->has_value()) kept = std::move(next);
}

void connection::finish_front() {
  auto const keep = shared_from_this();
  auto one = std::move(pending_.front());
  pending_.pop_front();
  watch();
  one.done(one.reply ? std::move(*one.reply) : answer(sql_error{"", "no answer"}));
}

void connection::read_notifications() {
  auto const keep = shared_from_this();
  while (!over_) {
    std::unique_ptr<PGnotify, decltype(&PQfreemem)> const news(PQnotifies(handle_.get()),
                                                               &PQfreemem);
    if (!news) return;
    if (auto const listener = listener_.lock()) listener->on_notification(news->extra);
  }
}

// The oldest statement that has a limit decides: the server works them off in order. The timer is
// not set anew for each: once it is over it looks who is the oldest then.
void connection::watch() {
  if (pending_.empty() || !pending_.front().due) return;
  auto const due = *pending_.front().due;
  if (watched_until_ <= due) return;
  watched_until_ = due;
  watch_timer_.expires_at(due);
  watch_timer_.async_wait([weak = weak_from_this()](boost::system::error_code ec) {
    auto const self = weak.lock();
    if (ec || !self || self->over_) return;
    self->watched_until_ = clock::time_point::max();
    bool const asked = !self->pending_.empty() && self->pending_.front().due;
    if (!asked || clock::now() < *self->pending_.front().due) return self->watch();
    self->end(sql_error{"", "the server does not answer"});
  });
}

void connection::end_later(sql_error why) {
  asio::post(executor_, [self = shared_from_this(), why = std::move(why)] { self->end(why); });
}

void connection::end(sql_error const& why) {
  auto const keep = shared_from_this();
  bool const told = over_;
  close();
  auto const left = std::exchange(pending_, {});
  for (auto const& one : left) one.done(why);
  if (told) return;
  if (auto const listener = listener_.lock()) listener->on_end(why);
}

void connection::close() {
  if (over_) return;
  over_ = true;
  open_timer_.cancel();
  watch_timer_.cancel();
  if (look_up_) look_up_->cancel();
  socket_.reset();
  handle_.reset();
  if (!pending_.empty()) end_later(sql_error{"", "the connection was closed"});
}

}  // namespace herdlock::postgres
