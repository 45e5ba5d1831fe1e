#include "stage/play.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include "terminal/duration.hpp"
#include "terminal/exit_code.hpp"

namespace herdlock::cli {
namespace {

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

std::string order(int expiry, std::int64_t revision) {
  return nlohmann::json{{"expiry", expiry}, {"revision", revision}}.dump();
}

}  // namespace

play::play(stampede_options const& options, worker_orders orders, origin_session& origin)
    : options_(options), orders_(std::move(orders)), origin_(origin) {}

// A process that hangs must not hang the demo; one that works on a slow machine must be let.
milliseconds play::deadline() const {
  auto const rounds = orders_.requests / orders_.connections + 1;
  auto const herd = static_cast<std::int64_t>(orders_.processes) * orders_.requests;
  return std::chrono::seconds(60) + 5 * rounds * orders_.origin.load_time + 5 * orders_.claim_ttl +
         milliseconds(herd);
}

asio::awaitable<void> play::together(task each) {
  auto executor = co_await asio::this_coro::executor;
  auto one = [&](std::size_t i) { return asio::co_spawn(executor, each(i), asio::deferred); };
  std::vector<decltype(one(0))> all;
  for (std::size_t i = 0; i < workers_.size(); ++i) all.push_back(one(i));
  auto group = asio::experimental::make_parallel_group(std::move(all));
  auto [ended, failures] =
      co_await group.async_wait(asio::experimental::wait_for_one_error(), asio::use_awaitable);
  // In the order of their end: the first is the cause, the others were cancelled by it.
  for (std::size_t const index : ended) {
    if (failures[index]) std::rethrow_exception(failures[index]);
  }
}

asio::awaitable<void> play::for_all(task each) {
  auto executor = co_await asio::this_coro::executor;
  auto all = together(std::move(each));
  co_await asio::co_spawn(executor, std::move(all),
                          asio::cancel_after(deadline(), asio::use_awaitable));
}

asio::awaitable<void> play::start(std::size_t index) {
  auto executor = co_await asio::this_coro::executor;
  workers_[index] = std::make_unique<worker_process>(executor, orders_);
  co_await workers_[index]->expect(frame_kind::ready);
}

asio::awaitable<mode_outcome> play::run(progress tell) {
  mode_outcome outcome(orders_.mode, options_);
  workers_.resize(static_cast<std::size_t>(orders_.processes));
  co_await for_all([this](std::size_t i) { return start(i); });
  for (int number = 1; number <= options_.expiries; ++number) {
    tell(number);
    kill_next_loader_ = number == 1 && options_.kill_loader && orders_.mode == guard_mode::fleet;
    co_await expiry(number, outcome);
  }
  frame const clean_up{frame_kind::clean_up, {}};
  co_await workers_.front()->send(clean_up);
  co_await workers_.front()->expect(frame_kind::cleaned);
  workers_.clear();
  outcome.loads = origin_.count_loads({orders_.run, name_of(orders_.mode), 0});
  co_return outcome;
}

// The old product expires as entries do, or is about to; the new one is what the database has by
// now, so that an answer which was not loaded anew is told from one that was.
asio::awaitable<void> play::let_expire(std::int64_t revision) {
  frame const expire{frame_kind::expire, order(0, revision - 1)};
  co_await workers_.front()->send(expire);
  co_await workers_.front()->expect(frame_kind::expired);
  origin_.revise(revision);
}

asio::awaitable<void> play::expiry(int number, mode_outcome& outcome) {
  co_await for_all([&](std::size_t i) -> asio::awaitable<void> {
    if (i == 0) return let_expire(number);
    return []() -> asio::awaitable<void> { co_return; }();
  });
  frame const go{frame_kind::go, order(number, number)};
  auto const go_ns = now_ns();
  std::vector<report> reports;
  co_await for_all([&](std::size_t i) -> asio::awaitable<void> {
    return [](play& self, frame const& f, std::size_t at,
              std::vector<report>& to) -> asio::awaitable<void> {
      co_await self.workers_[at]->send(f);
      co_await self.serve(at, to);
    }(*this, go, i, reports);
  });
  outcome.add_expiry(go_ns, reports);
  if (killed_) co_await replace_killed(go_ns, outcome);
}

asio::awaitable<void> play::serve(std::size_t index, std::vector<report>& reports) {
  worker_process& worker = *workers_[index];
  while (true) {
    frame const got = co_await worker.receive();
    if (got.kind == frame_kind::report) {
      reports.push_back(report::unpack(got.body));
      co_return;
    }
    if (got.kind == frame_kind::loading && std::exchange(kill_next_loader_, false)) {
      auto const began = now_ns();
      // In the middle: half of the query's time after the load began.
      asio::steady_timer half(co_await asio::this_coro::executor, orders_.origin.load_time / 2);
      co_await half.async_wait(asio::use_awaitable);
      killed_ = {index, worker.pid(), began, now_ns()};
      worker.kill();
      co_return;
    }
  }
}

asio::awaitable<void> play::replace_killed(std::int64_t go_ns, mode_outcome& outcome) {
  auto const ms = [go_ns](std::int64_t ns) { return static_cast<double>(ns - go_ns) / 1e6; };
  auto& loads = outcome.last.loads;
  loads.insert(loads.begin(), {ms(killed_->began_ns), ms(killed_->killed_ns), true});
  outcome.note = fmt::format(
      "process {} was killed (SIGKILL) in the middle of its load, in the first expiry; the {} "
      "requests of the others had their answers {:.0f} ms later, from {} new {} (claim ttl {})",
      killed_->pid, outcome.last.answers, outcome.last_answer_ms() - ms(killed_->killed_ns),
      outcome.last.load_count, outcome.last.load_count == 1 ? "load" : "loads",
      say(orders_.claim_ttl));
  outcome.drawn_for_good = true;
  std::size_t const index = killed_->index;
  killed_.reset();
  co_await start(index);
}

}  // namespace herdlock::cli
