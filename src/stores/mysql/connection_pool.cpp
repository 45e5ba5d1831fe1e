#include "stores/mysql/connection_pool.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace herdlock::mysql {

std::shared_ptr<connection> connection_pool::take_idle() {
  while (!idle_.empty()) {
    auto one = std::move(idle_.back());
    idle_.pop_back();
    if (one->is_alive()) return one;
    lost_one_ = true;
  }
  return nullptr;
}

awaitable<std::shared_ptr<connection>> connection_pool::borrow(clock::time_point deadline) {
  while (true) {
    if (!waiting_.empty() || !has_one()) co_await wait_for_one(deadline);
    auto one = take_idle();
    bool const is_new = !one;
    if (is_new) one = std::make_shared<connection>();
    put_to_use(one);
    bool usable = true;
    if (is_new) usable = co_await open(one);
    if (!usable) continue;
    one->set_deadline(deadline);
    co_return one;
  }
}

awaitable<void> connection_pool::wait_for_one(clock::time_point deadline) {
  bool const may_wait = clock::now() < deadline;
  auto const mine = waiting_.emplace(waiting_.end(), with_.executor, deadline);
  auto const is_next = [&] { return closed_ || (mine == waiting_.begin() && has_one()); };
  while (!is_next() && clock::now() < deadline) {
    boost::system::error_code ignored;
    co_await mine->async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  bool const found = is_next();
  waiting_.erase(mine);
  if (found) co_return;
  wake_next();
  // Statements that hang keep their connections: that is no matter of how many there are.
  if (may_wait) throw sql_error{too_late, "no connection was free in time"};
  throw sql_error{pool_is_full, "all " + std::to_string(most_) +
                                    " connections are in use; raise `pool` in the store's URL, "
                                    "or hold fewer leases at once in the modes row and named"};
}

// In use from here on, so that close() ends what it waits for.
void connection_pool::put_to_use(std::shared_ptr<connection> const& one) {
  std::unique_lock alone(mutex_);
  if (closed_) throw sql_error{pool_is_closed, "the store is being closed"};
  in_use_.push_back(one);
  alone.unlock();
  wake_next();
}

// False: newer connections lead to another server.
awaitable<bool> connection_pool::open(std::shared_ptr<connection> one) {
  auto const start = [&](auto handler) {
    auto const done = std::make_shared<decltype(handler)>(std::move(handler));
    with_.threads.add([how = with_.how, executor = with_.executor, one, done]() mutable {
      std::optional<sql_error> error;
      try {
        one->open(how);
      } catch (sql_error const& why) {
        error = why;
      }
      one = nullptr;
      asio::post(executor, [done = std::move(done), error = std::move(error)]() mutable {
        std::move (*done)(std::move(error));
      });
    });
  };
  using outcome_type = void(std::optional<sql_error>);
  auto const error = co_await asio::async_initiate<asio::use_awaitable_t<> const, outcome_type>(
      start, asio::use_awaitable);
  if (!error) co_return admit(*one);
  forget(*one);
  if (closed_) throw sql_error{pool_is_closed, "the store is being closed"};
  throw *error;
}

bool connection_pool::admit(connection& fresh) {
  fresh.in_service = true;
  using verdict = stores::present_server::verdict;
  auto const before = with_.present.identity();
  auto const found = with_.present.met(fresh.begun(), fresh.server());
  if (found == verdict::moved) with_.moved(before, fresh.server());
  if (found == verdict::outdated) {
    forget(fresh);
    return false;
  }
  bool const lost_one = std::exchange(lost_one_, false);
  if (lost_one || found == verdict::moved) with_.anew();
  return true;
}

// Nothing is known of the server of those that are being opened: they are looked at when they are
// up.
void connection_pool::leave_all_but(std::string const& server) {
  auto const leads_elsewhere = [&](auto const& one) {
    return one->in_service && stores::leads_elsewhere(one->server(), server);
  };
  std::erase_if(idle_, leads_elsewhere);
  std::lock_guard alone(mutex_);
  for (auto const& one : in_use_) {
    if (leads_elsewhere(one)) one->abort();
  }
}

void connection_pool::forget(connection const& one) {
  {
    std::lock_guard alone(mutex_);
    std::erase_if(in_use_, [&](auto const& each) { return each.get() == &one; });
  }
  wake_next();
}

void connection_pool::wake_next() {
  if (!waiting_.empty() && has_one()) waiting_.front().cancel();
}

void connection_pool::give_back(std::shared_ptr<connection> one) {
  if (!closed_) idle_.push_back(one);
  forget(*one);
}

void connection_pool::drop(std::shared_ptr<connection> one) {
  lost_one_ = lost_one_ || (one->in_service && !one->is_alive());
  one->abort();
  forget(*one);
}

void connection_pool::close() {
  std::lock_guard alone(mutex_);
  closed_ = true;
  for (auto const& each : in_use_) each->abort();
}

void connection_pool::dismiss() {
  idle_.clear();
  for (auto& each : waiting_) each.cancel();
}

}  // namespace herdlock::mysql
