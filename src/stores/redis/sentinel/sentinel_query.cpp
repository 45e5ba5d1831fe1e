#include "stores/redis/sentinel/sentinel_query.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "stores/redis/client/raw_command.hpp"
#include "stores/redis/client/server_errors.hpp"
#include "stores/redis/timers.hpp"

namespace herdlock::redis {
namespace {

milliseconds time_for(settings const& how, std::size_t sentinels) {
  auto const share = how.timeout / static_cast<milliseconds::rep>(sentinels + 1);
  return std::clamp(share, min_sentinel_time, max_sentinel_time);
}

// A certificate that is not trusted is our own finding, and no account would help.
failure advised(failure why) {
  bool const refused_us = why.message.find("the server says") != std::string::npos;
  if (why == errc::access_denied && refused_us) {
    why.message +=
        "; the sentinels' own account is given with sentinel_user and "
        "sentinel_password";
  }
  return why;
}

// In what SENTINEL MASTER says, names and values; 0 when it may not be asked.
std::int64_t epoch_in(reply const& master) {
  if (master.kind() != reply_kind::list) return 0;
  for (std::size_t i = 1; i + 1 < master.nodes(); i += 2) {
    if (master.text(i) == "config-epoch") return master.number(i + 1).value_or(0);
  }
  return 0;
}

}  // namespace

settings sentinel_settings(settings const& how, stores::server_address const& at,
                           milliseconds limit) {
  settings one;
  one.host = at.host;
  one.port = at.port;
  one.display_name = "sentinel " + one.address();
  one.user = how.sentinel_user;
  one.password = how.sentinel_password;
  one.tls = how.tls;
  one.timeout = limit;
  return one;
}

sentinel_query::sentinel_query(asio::any_io_executor executor, settings const& how,
                               master_vote vote, std::vector<stores::server_address> were_silent)
    : executor_(std::move(executor)),
      how_(how),
      vote_(std::move(vote)),
      were_silent_(std::move(were_silent)),
      timer_(executor_),
      probes_(vote_.sentinels().size()) {}

sentinel_query::~sentinel_query() { stop(); }

void sentinel_query::start(answer done) {
  done_ = std::move(done);
  asio::post(executor_, [weak = weak_from_this()] {
    if (auto const self = weak.lock()) self->begin();
  });
}

void sentinel_query::begin() {
  auto const limit = time_for(how_, probes_.size());
  run_after(timer_, limit, weak_from_this(), [](sentinel_query& self) { self.on_time_up(); });
  for (std::size_t i = 0; i < probes_.size(); ++i) {
    auto const one = sentinel_settings(how_, vote_.sentinels()[i], limit);
    probes_[i] = {nullptr, one.display_name};
    probes_[i].over = transport::start(executor_, one, weak_from_this());
  }
}

std::size_t sentinel_query::index_of(transport const& which) const {
  auto const found = std::ranges::find(probes_, &which, [](auto& one) { return one.over.get(); });
  return static_cast<std::size_t>(found - probes_.begin());
}

void sentinel_query::on_ready(transport& from) {
  if (index_of(from) == probes_.size()) return;
  auto request = make_batch();
  ask(*request, {"SENTINEL", "get-master-addr-by-name", how_.master_name});
  ask(*request, {"SENTINEL", "MASTER", how_.master_name});
  from.send(std::move(request));
}

void sentinel_query::on_batch(transport& from, batch_ptr done, failure const* why) {
  auto const index = index_of(from);
  if (index == probes_.size() || why) return;  // its end follows
  on_answer(index, done->replies[0], epoch_in(done->replies[1]));
}

void sentinel_query::on_ended(transport& from, failure why, failure_kind) {
  if (auto const index = index_of(from); index < probes_.size()) failed(index, advised(why));
}

void sentinel_query::on_answer(std::size_t index, reply const& said, std::int64_t epoch) {
  auto const& name = probes_[index].name;
  if (said.is_error()) return failed(index, advised(server_failure(said.text(), name)));
  if (said.kind() == reply_kind::null) {
    return failed(index, make_failure(errc::invalid_url, name + ": it knows no such master"));
  }
  auto const port = said.number(2);
  if (said.list_size() != 2 || said.text(1).empty() || !port || *port < 1 || *port > 65535) {
    return failed(index, make_failure(errc::protocol, name + ": an answer that is no address"));
  }
  vote_.names(index, {std::string(said.text(1)), static_cast<std::uint16_t>(*port)}, epoch);
  std::exchange(probes_[index].over, nullptr)->stop();
  go_on();
}

void sentinel_query::failed(std::size_t index, failure const& why) {
  bool const final = why == errc::access_denied || why == errc::invalid_url;
  denied_ = denied_ || why == errc::access_denied;
  unknown_ = unknown_ || why == errc::invalid_url;
  may_recover_ = may_recover_ || !final;
  reasons_ += (reasons_.empty() ? "" : "; ") + why.message;
  silent_.push_back(vote_.sentinels()[index]);
  vote_.knows_none(index);
  if (auto const old = std::exchange(probes_[index].over, nullptr)) old->stop();
  go_on();
}

void sentinel_query::on_time_up() {
  auto const self = shared_from_this();
  auto const limit = in_ms(is_short_ ? silent_sentinel_time : time_for(how_, probes_.size()));
  for (std::size_t i = 0; i < probes_.size() && done_; ++i) {
    if (!probes_[i].over) continue;
    failed(i, make_failure(errc::unavailable, probes_[i].name + ": no answer within " + limit));
  }
}

void sentinel_query::go_on() {
  if (vote_.decided()) return complete();
  if (!only_the_silent_are_missing() || std::exchange(is_short_, true)) return;
  run_after(timer_, std::min(silent_sentinel_time, time_for(how_, probes_.size())),
            weak_from_this(), [](sentinel_query& self) { self.on_time_up(); });
}

bool sentinel_query::only_the_silent_are_missing() const {
  for (std::size_t i = 0; i < probes_.size(); ++i) {
    bool const was_silent =
        std::ranges::find(were_silent_, vote_.sentinels()[i]) != were_silent_.end();
    if (!vote_.has_answered(i) && !was_silent) return false;
  }
  return vote_.winner().has_value();
}

// As long as one of them could not be asked, the next attempt may know more.
failure sentinel_query::nobody_knows() const {
  errc const code = may_recover_ ? errc::unavailable
                    : denied_    ? errc::access_denied
                                 : errc::invalid_url;
  std::string const advice =
      unknown_ ? "; is that the name in their `sentinel monitor NAME …`?" : "";
  return how_.failed(code, "no sentinel tells where the master " + in_quotes(how_.master_name) +
                               " is (" + reasons_ + ")" + advice);
}

void sentinel_query::complete() {
  auto const self = shared_from_this();  // the answer may let this query go
  stop();
  auto const done = std::exchange(done_, nullptr);
  if (!done) return;
  outcome told{vote_, silent_, {}, failure_kind::temporary};
  if (!vote_.winner()) {
    told.why = nobody_knows();
    if (!may_recover_) told.kind = failure_kind::refused;
  }
  done(std::move(told));
}

void sentinel_query::stop() {
  timer_.cancel();
  for (auto& one : probes_) {
    if (auto const old = std::exchange(one.over, nullptr)) old->stop();
  }
}

}  // namespace herdlock::redis
