#include "stores/sqlite/exchange.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "stores/common/numbers.hpp"
#include "stores/sqlite/statements.hpp"

namespace herdlock::sqlite {
namespace {

constexpr poll_settings for_reports{"ask for the reports of", milliseconds{250}, &reports_behind};
constexpr poll_settings for_rules{"ask for the rules of", milliseconds{1000}, &rules_behind};

// One report, from its first try on.
class report_writer {
 public:
  explicit report_writer(store_report what) : what_(std::move(what)) {}

  result<void> operator()(connection& db) {
    if (!until_) {
      until_ = std::min(db.deadline(), clock::now() + exchange::report_patience);
      db.set_deadline(*until_);
    }
    try {
      sqlite::report(db, what_);
    } catch (sql_error const& error) {
      if (!error.busy() || db.given_up() || clock::now() < *until_) throw;
      return make_failure(errc::timed_out, "sqlite: report to " + in_quotes(what_.topic) +
                                               ": others write to " + db.settings().path +
                                               " for more than " +
                                               in_ms(exchange::report_patience) +
                                               ", so it is dropped; the next one says the same");
    }
    return boost::system::in_place_value;
  }

 private:
  store_report what_;
  std::optional<clock::time_point> until_;
};

}  // namespace

exchange::exchange(std::shared_ptr<file_operations> file)
    : file_(std::move(file)),
      reports_(std::make_shared<told_poll>(file_, for_reports)),
      rules_(std::make_shared<told_poll>(file_, for_rules)) {}

void exchange::report(store_report what, handler<void> done) {
  auto name = what.topic;
  file_->write("report to", std::move(name), std::move(done), report_writer(std::move(what)));
}

void exchange::listen(std::string topic, std::weak_ptr<report_listener> to) {
  auto hear = [to](algo::told_row const& row) {
    if (auto const alive = to.lock()) alive->on_report(row.text);
  };
  reports_->listen({std::move(topic), to, std::move(hear)});
}

void exchange::read_rules(std::string topic, handler<store_rules> done) {
  auto name = topic;
  file_->read("read the rules of", std::move(name), std::move(done),
              [topic = std::move(topic)](connection& db) -> result<store_rules> {
                return sqlite::read_rules(db, topic);
              });
}

void exchange::write_rules(rules_change what, handler<std::uint64_t> done) {
  auto name = what.topic;
  file_->write("write the rules of", std::move(name), std::move(done),
               [what = std::move(what)](connection& db) -> result<std::uint64_t> {
                 return sqlite::write_rules(db, what);
               });
}

void exchange::listen_for_rules(std::string topic, std::weak_ptr<rules_listener> to) {
  auto hear = [to](algo::told_row const& row) {
    auto const alive = to.lock();
    if (alive) alive->on_rules({static_cast<std::uint64_t>(row.at), row.text});
  };
  rules_->listen({std::move(topic), to, std::move(hear)});
}

void exchange::count_listeners(std::string, handler<listener_count> done) {
  detail::post_result<listener_count>(file_->executor(), std::move(done), listener_count());
}

void exchange::prolong(prolong_request what, handler<bool> done) {
  auto name = what.key.str();
  file_->write("prolong", std::move(name), std::move(done),
               [what = std::move(what)](connection& db) -> result<bool> {
                 return sqlite::prolong(db, what);
               });
}

}  // namespace herdlock::sqlite
