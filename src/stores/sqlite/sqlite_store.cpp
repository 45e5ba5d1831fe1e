#include "stores/sqlite/sqlite_store.hpp"

#include <filesystem>
#include <herdlock/url_scheme.hpp>

#include "stores/common/pending_operations.hpp"
#include "stores/common/url_options.hpp"
#include "stores/sqlite/completion_queue.hpp"
#include "stores/sqlite/schema.hpp"
#include "stores/sqlite/statements.hpp"
#include "stores/sqlite/worker.hpp"

namespace herdlock {
namespace sqlite {
namespace {

using stores::order;
using stores::pending_operations;

struct settings {
  file_settings file;
  std::size_t max_pending = 65536;
};

// A lock in a file that others don't find any more excludes nobody.
failure check_not_moved(connection& db) {
  if (!db.moved()) return {};
  failure why = moved_away(db.settings());
  why.message = "sqlite: " + why.message;
  return why;
}

// An operation as a task for a worker.
template <class T, class Work>
class database_operation final : public stores::operation<T>, public task {
 public:
  database_operation(std::shared_ptr<stores::pending_operations> const& pending,
                     stores::order<T> what, milliseconds timeout,
                     std::shared_ptr<completion_queue> const& to, Work work)
      : stores::operation<T>(pending, std::move(what), clock::now() + timeout),
        to_(to),
        margin_(timeout / 20),
        work_(std::move(work)) {}

  bool wanted() const override { return !this->abandoned(); }

  // On the worker's thread. The handler belongs to the executor, so the last reference goes there
  // too, with the result. The worker stops a little before the deadline: its answer tells more than
  // the timer's, and leaves no doubt about the outcome.
  void run(connection& db, std::shared_ptr<task> self) noexcept override {
    db.set_deadline(this->deadline() - margin_);
    outcome_ = attempt<T>(
        db, [this] { return this->subject(); }, work_);
    if (auto const to = to_.lock()) to->add(std::move(self));
  }

  void deliver() override { this->complete_at_the_end(std::move(*outcome_)); }

 protected:
  void on_completed() override {
    if (auto const to = to_.lock()) to->completed();
  }

 private:
  std::weak_ptr<completion_queue> to_;
  milliseconds margin_;
  Work work_;
  std::optional<result<T>> outcome_;
};

class store final : public lease_store, public cache_store {
 public:
  store(std::shared_ptr<pending_operations> pending, milliseconds timeout,
        std::shared_ptr<completion_queue> completions, std::unique_ptr<connection> writer,
        std::unique_ptr<connection> reader)
      : pending_(std::move(pending)),
        completions_(std::move(completions)),
        timeout_(timeout),
        writes_(std::move(writer), worker::kind::writes),
        reads_(std::move(reader), worker::kind::reads) {}

  ~store() override {
    asio::post(pending_->executor(), [pending = pending_, completions = completions_] {
      completions->close();
      asio::post(pending->executor(), [pending] { pending->close(); });
    });
  }

  void acquire(acquire_request request, handler<acquire_reply> done) override {
    write("acquire", request.name.str(), std::move(done),
          [request](connection& db) { return sqlite::acquire(db, request); });
  }

  void renew(resource name, owner_token owner, milliseconds ttl,
             handler<renew_reply> done) override {
    write("renew", name.str(), std::move(done),
          [name, owner, ttl](connection& db) { return sqlite::renew(db, name, owner, ttl); });
  }

  void release(resource name, owner_token owner, handler<release_reply> done) override {
    write("release", name.str(), std::move(done),
          [name, owner](connection& db) { return sqlite::release(db, name, owner); });
  }

  void inspect(resource name, handler<std::optional<lease_info>> done) override {
    read("inspect", name.str(), std::move(done),
         [name](connection& db) { return sqlite::inspect(db, name); });
  }

  void force_release(resource name, handler<release_reply> done) override {
    write("force release of", name.str(), std::move(done),
          [name](connection& db) { return sqlite::force_release(db, name); });
  }

  void list(list_request request, handler<lease_page> done) override {
    read("list", "leases", std::move(done),
         [request](connection& db) { return sqlite::list(db, request); });
  }

  void get(cache_key key, layout form, handler<cache_lookup> done) override {
    read("get", key.str(), std::move(done),
         [key, form](connection& db) { return sqlite::get(db, key, form); });
  }

  void claim(claim_request request, handler<claim_reply> done) override {
    write("claim", request.key.str(), std::move(done),
          [request](connection& db) { return sqlite::claim(db, request); });
  }

  void extend(cache_key key, owner_token owner, milliseconds ttl,
              handler<renew_reply> done) override {
    write("extend", key.str(), std::move(done),
          [key, owner, ttl](connection& db) { return sqlite::extend(db, key, owner, ttl); });
  }

  void fill(fill_request request, handler<fill_reply> done) override {
    std::string const key = request.key.str();
    write("fill", key, std::move(done),
          [request = std::move(request)](connection& db) { return sqlite::fill(db, request); });
  }

  void fail(cache_key key, owner_token owner, std::string error, milliseconds back_off,
            handler<fill_reply> done) override {
    fail_request const request{key, std::move(owner), std::move(error), back_off};
    write("fail", key.str(), std::move(done),
          [request](connection& db) { return sqlite::fail(db, request); });
  }

  void put(put_request request, handler<void> done) override {
    std::string const key = request.key.str();
    write("put", key, std::move(done), [request = std::move(request)](connection& db) {
      sqlite::put(db, request);
      return result<void>();
    });
  }

  void invalidate(cache_key key, handler<bool> done) override {
    write("invalidate", key.str(), std::move(done),
          [key](connection& db) { return sqlite::invalidate(db, key); });
  }

  void expire(cache_key key, milliseconds keep, handler<bool> done) override {
    write("expire", key.str(), std::move(done),
          [key, keep](connection& db) { return sqlite::expire(db, key, keep); });
  }

  void time_left(cache_key key, handler<std::optional<milliseconds>> done) override {
    read("ask for the time of", key.str(), std::move(done),
         [key](connection& db) { return sqlite::time_left(db, key); });
  }

  void now(handler<std::chrono::microseconds> done) override {
    read("ask for", "the time", std::move(done), [](connection& db) { return sqlite::now(db); });
  }

  // Nothing is pushed between processes: the caller looks again after a while of its own.
  void watch(watch_request, handler<watch_reply> done) override {
    detail::post_result<watch_reply>(pending_->executor(), std::move(done),
                                     watch_reply(look_again{}));
  }

 private:
  template <class T, class Work>
  void write(char const* verb, std::string name, handler<T> done, Work work) {
    auto checked = [work = std::move(work)](connection& db) -> result<T> {
      if (failure gone = check_not_moved(db); gone.code) return gone;
      return work(db);
    };
    begin(writes_, order<T>{verb, std::move(name), std::move(done)}, std::move(checked));
  }

  template <class T, class Work>
  void read(char const* verb, std::string name, handler<T> done, Work work) {
    begin(reads_, order<T>{verb, std::move(name), std::move(done)}, std::move(work));
  }

  template <class T, class Work>
  void begin(worker& on, order<T> what, Work work) {
    auto const one = std::make_shared<database_operation<T, Work>>(
        pending_, std::move(what), timeout_, completions_, std::move(work));
    if (!one->admit()) return;
    completions_->expect();
    on.add(one);
  }

  std::shared_ptr<pending_operations> pending_;
  std::shared_ptr<completion_queue> completions_;
  milliseconds timeout_;
  worker writes_;
  worker reads_;  ///< so that a hit never waits for a writer
};

using stores::option_kind;

// An empty file of ours has a third of the least max_bytes.
constexpr stores::url_option options[] = {
    {"timeout", option_kind::duration, "5s", "1ms to 1h",
     "how long a command may take, waiting for other processes included"},
    {"max_pending", option_kind::count, "65536", "from 1",
     "commands under way in a store; one more is overloaded"},
    {"max_bytes", option_kind::count, "4294967296", "from 131072",
     "how large the file may become; a write that finds no room is unavailable"},
    {"network", option_kind::choice, "refuse", "refuse, allow",
     "allow: also on a network file system, which no other machine uses"},
};
constexpr stores::scheme_options schemes[] = {{"sqlite", {options}}};

result<settings> take_settings(store_url& url) {
  stores::option_reader in(url, schemes[0]);
  if (!url.host.empty() || !url.user.empty() || !url.password.empty()) {
    in.refuse("write sqlite:PATH or sqlite:///PATH");
  }
  if (url.path.empty()) in.refuse("the path of the file is missing");
  if (url.path == ":memory:") in.refuse("for a store in memory write memory:");
  settings taken;
  taken.file.path = url.path;
  taken.file.timeout = in.duration("timeout");
  taken.max_pending = in.count("max_pending");
  taken.file.max_bytes = in.count<std::uint64_t>("max_bytes");
  taken.file.network = in.choice<network_policy>("network");
  if (failure bad = in.end(); bad.code) return bad;
  return taken;
}

}  // namespace
}  // namespace sqlite

result<backend> open_sqlite(store_url url, asio::any_io_executor executor) {
  std::string display_name = url.redacted();
  auto settings = sqlite::take_settings(url);
  if (!settings) return settings.error();
  if (failure why = sqlite::prepare_file(settings->file); why.code) return why;
  auto writer = sqlite::connect(settings->file);
  if (!writer) return writer.error();
  auto reader = sqlite::connect(settings->file);
  if (!reader) return reader.error();
  auto completions = sqlite::completion_queue::open(executor);
  if (!completions) return completions.error();
  auto const& file = settings->file;
  auto pending = std::make_shared<stores::pending_operations>(
      std::move(executor),
      stores::pending_settings{.store = "sqlite",
                               .late = file.path + " did not answer within " + in_ms(file.timeout) +
                                       "; the disk hangs or too many commands wait for it",
                               .closed = file.path + " is being closed",
                               .max_pending = settings->max_pending});
  auto store =
      std::make_shared<sqlite::store>(std::move(pending), file.timeout, std::move(*completions),
                                      std::move(*writer), std::move(*reader));
  store_traits traits{.across_processes = true};
  return backend{store, store, traits, std::move(display_name)};
}

std::span<url_scheme const> v0::sqlite_schemes() {
  static constexpr url_scheme schemes[] = {
      {"sqlite", open_sqlite, examine_sqlite},
  };
  return schemes;
}

}  // namespace herdlock

std::span<herdlock::stores::scheme_options const> herdlock::stores::sqlite_options() {
  return sqlite::schemes;
}
