#include "stores/sqlite/sqlite_store.hpp"

#include <herdlock/url_scheme.hpp>

#include "stores/common/numbers.hpp"
#include "stores/sqlite/exchange.hpp"
#include "stores/sqlite/operations.hpp"
#include "stores/sqlite/schema.hpp"
#include "stores/sqlite/settings.hpp"
#include "stores/sqlite/statements.hpp"

namespace herdlock {
namespace sqlite {
namespace {

class store final : public lease_store, public cache_store {
 public:
  explicit store(std::shared_ptr<file_operations> file) : file_(std::move(file)) {}

  void acquire(acquire_request request, handler<acquire_reply> done) override {
    file_->write("acquire", request.name.str(), std::move(done),
                 [request](connection& db) { return sqlite::acquire(db, request); });
  }

  void renew(resource name, owner_token owner, milliseconds ttl,
             handler<renew_reply> done) override {
    file_->write("renew", name.str(), std::move(done), [name, owner, ttl](connection& db) {
      return sqlite::renew(db, name, owner, ttl);
    });
  }

  void release(resource name, owner_token owner, handler<release_reply> done) override {
    file_->write("release", name.str(), std::move(done),
                 [name, owner](connection& db) { return sqlite::release(db, name, owner); });
  }

  void leave(leave_request request, handler<release_reply> done) override {
    file_->write("leave", request.name.str(), std::move(done),
                 [request](connection& db) { return sqlite::leave(db, request); });
  }

  void inspect(resource name, handler<std::optional<lease_info>> done) override {
    file_->read("inspect", name.str(), std::move(done),
                [name](connection& db) { return sqlite::inspect(db, name); });
  }

  void force_release(resource name, handler<release_reply> done) override {
    file_->write("force release of", name.str(), std::move(done),
                 [name](connection& db) { return sqlite::force_release(db, name); });
  }

  void list(list_request request, handler<lease_page> done) override {
    file_->read("list", "leases", std::move(done),
                [request](connection& db) { return sqlite::list(db, request); });
  }

  void get(cache_key key, layout form, handler<cache_lookup> done) override {
    file_->read("get", key.str(), std::move(done),
                [key, form](connection& db) { return sqlite::get(db, key, form); });
  }

  void claim(claim_request request, handler<claim_reply> done) override {
    file_->write("claim", request.key.str(), std::move(done),
                 [request](connection& db) { return sqlite::claim(db, request); });
  }

  void extend(cache_key key, owner_token owner, milliseconds ttl,
              handler<renew_reply> done) override {
    file_->write("extend", key.str(), std::move(done),
                 [key, owner, ttl](connection& db) { return sqlite::extend(db, key, owner, ttl); });
  }

  void fill(fill_request request, handler<fill_reply> done) override {
    std::string const key = request.key.str();
    file_->write("fill", key, std::move(done), [request = std::move(request)](connection& db) {
      return sqlite::fill(db, request);
    });
  }

  void fail(cache_key key, owner_token owner, std::string error, milliseconds back_off,
            handler<fill_reply> done) override {
    fail_request const request{key, std::move(owner), std::move(error), back_off};
    file_->write("fail", key.str(), std::move(done),
                 [request](connection& db) { return sqlite::fail(db, request); });
  }

  void put(put_request request, handler<void> done) override {
    std::string const key = request.key.str();
    file_->write("put", key, std::move(done), [request = std::move(request)](connection& db) {
      sqlite::put(db, request);
      return result<void>();
    });
  }

  void invalidate(cache_key key, handler<bool> done) override {
    file_->write("invalidate", key.str(), std::move(done),
                 [key](connection& db) { return sqlite::invalidate(db, key); });
  }

  void expire(cache_key key, milliseconds keep, handler<bool> done) override {
    file_->write("expire", key.str(), std::move(done),
                 [key, keep](connection& db) { return sqlite::expire(db, key, keep); });
  }

  void time_left(cache_key key, handler<std::optional<milliseconds>> done) override {
    file_->read("ask for the time of", key.str(), std::move(done),
                [key](connection& db) { return sqlite::time_left(db, key); });
  }

  void now(handler<std::chrono::microseconds> done) override {
    file_->read("ask for", "the time", std::move(done),
                [](connection& db) { return sqlite::now(db); });
  }

  // Nothing is pushed between processes: the caller looks again after a while of its own.
  void watch(watch_request, handler<watch_reply> done) override {
    detail::post_result<watch_reply>(file_->executor(), std::move(done), watch_reply(look_again{}));
  }

 private:
  std::shared_ptr<file_operations> const file_;
};

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
  auto const operations = std::make_shared<sqlite::file_operations>(
      std::move(pending), file.timeout, std::move(*completions), std::move(*writer),
      std::move(*reader));
  auto const store = std::make_shared<sqlite::store>(operations);
  auto const exchange = std::make_shared<sqlite::exchange>(operations);
  store_traits traits{.across_processes = true, .leaves_leases = true};
  backend made{store, store, traits, std::move(display_name)};
  made.reports = exchange;
  made.rules = exchange;
  return made;
}

std::span<url_scheme const> v0::sqlite_schemes() {
  static constexpr url_scheme schemes[] = {
      {"sqlite", open_sqlite, examine_sqlite, survey_sqlite},
  };
  return schemes;
}

}  // namespace herdlock
