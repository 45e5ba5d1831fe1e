#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <functional>
#include <future>
#include <herdlock/lock.hpp>
#include <stdexcept>
#include <thread>

#include "scenes/stampede_board.hpp"
#include "stage/clock.hpp"

namespace herdlock::lab {
namespace {

using verdict = right_products::verdict;

std::string wrong(product const& answer, product const& expected) {
  return fmt::format("wrong answer: revision {} instead of {}", answer.revision, expected.revision);
}

class herd {
 public:
  herd(stampede_orders const& orders, stampede_board& board, std::size_t number)
      : orders_(orders),
        board_(board),
        number_(number),
        mine_(board.each[number]),
        stores_(open_stores(orders)),
        pool_(orders.origin, orders.connections),
        scheme_(orders.mode->make(stores_, orders, [this] { return load(); })) {
    if (stores_.locks) lock(*stores_.locks, orders.key).inspect();
    wait(scheme_->look());
  }

  void play() {
    int now = board_.all->step;  // a process that stands in for a killed one leaves out its step
    mine_.id = ::getpid();
    mine_.done = now;
    while ((now = next_step(now)) != stampede_step::end) {
      expiry_ = (now + 1) / 2;
      if (now == stampede_step::requests_come(expiry_)) {
        answer_requests();
      } else if (number_ == 0) {
        let_expire();
      }
      mine_.done = now;
    }
    if (number_ == 0) wait(scheme_->remove());
    board_.warnings.note(stores_.values);
  }

 private:
  // Who waits here in vain is killed with the scene's own process.
  int next_step(int done) const {
    while (board_.all->step == done) std::this_thread::sleep_for(milliseconds(1));
    return board_.all->step;
  }

  // The old product expires as entries do, or is about to; the new one is what the database has by
  // now, so that an answer which was not loaded anew is told from one that was.
  void let_expire() {
    wait(scheme_->play_expiry(product_at(expiry_ - 1)));
    origin(orders_.origin).revise(expiry_);
  }

  void answer_requests() {
    wait(scheme_->get_ready());
    right_products const right(*orders_.mode, expiry_);
    mine_.answers = mine_.errors = mine_.loads = 0;
    mine_.near_hits = 0;
    mine_.loading_ns = 0;
    auto const waited_before = scheme_->waited();
    mine_.started_ns = steady_ns();
    ask_at_once(right, [this](bool is_old) {
      board_.answer(number_, mine_.answers++) = {micros_since_start(steady_ns()), is_old};
    });
    if (right.old) try_it(ask_until_fresh(right));
    mine_.waited = scheme_->waited() - waited_before;
    if (orders_.mode->keeps_near) come_once_more(right);
  }

  // A value is kept from the next read on that finds it.
  void come_once_more(right_products const& right) {
    try_it(ask_until_kept());
    auto const before = scheme_->near_hits();
    ask_at_once(right, [](bool) {});
    mine_.near_hits = scheme_->near_hits() - before;
  }

  // Returns when the last is answered. `answered` is called for each right answer. All happens on
  // the store's executor.
  void ask_at_once(right_products const& right, std::function<void(bool is_old)> const& answered) {
    std::promise<void> all;
    int open = orders_.requests;
    auto const take = [&](std::exception_ptr const& failed, product const& answer) {
      auto const is = failed ? verdict::wrong : right.judged(answer);
      if (is != verdict::wrong) answered(is == verdict::old);
      if (is == verdict::wrong) note_error(failed ? text_of(failed) : wrong(answer, right.fresh));
      if (--open == 0) all.set_value();
    };
    auto const executor = stores_.values.get_executor();
    asio::post(executor, [&, executor] {
      for (int i = 0; i < orders_.requests; ++i) asio::co_spawn(executor, scheme_->ask(), take);
    });
    all.get_future().get();
  }

  // Where old answers are right, one who goes on asking gets the new one nevertheless. Then the
  // load behind them has ended.
  asio::awaitable<void> ask_until_fresh(right_products right) {
    auto const end = steady_ns() + in_ns(load_limit(orders_));
    product answer = co_await scheme_->ask();
    while (right.judged(answer) == verdict::old && steady_ns() < end) {
      co_await sleep_for(milliseconds(5));
      answer = co_await scheme_->ask();
    }
    if (answer != right.fresh) throw std::runtime_error(wrong(answer, right.fresh));
  }

  // The value that this process has loaded may be on its way into the store.
  asio::awaitable<void> ask_until_kept() {
    auto const end = steady_ns() + in_ns(milliseconds(1'000));
    auto const before = scheme_->near_hits();
    while (scheme_->near_hits() == before && steady_ns() < end) {
      co_await scheme_->ask();
      co_await sleep_for(milliseconds(1));
    }
  }

  asio::awaitable<product> load() {
    auto const from = steady_ns();
    auto logged = [this] { note_first(mine_.loading_ns, steady_ns()); };
    product loaded = co_await pool_.load({orders_.run, orders_.mode->name, expiry_}, logged);
    auto const at = mine_.loads++;
    if (at < stampede_board::max_loads) {
      board_.load(number_, at) = {micros_since_start(from), micros_since_start(steady_ns())};
    }
    co_return loaded;
  }

  std::uint32_t micros_since_start(std::int64_t ns) const {
    return static_cast<std::uint32_t>((ns - mine_.started_ns) / 1'000);
  }

  static std::string text_of(std::exception_ptr const& thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (std::exception const& e) {
      return e.what();
    }
  }

  void note_error(std::string const& text) {
    ++mine_.errors;
    board_.all->first_error.raise(exit_code::promise_broken, text);
  }

  void wait(asio::awaitable<void> work) {
    asio::co_spawn(stores_.values.get_executor(), std::move(work), asio::use_future).get();
  }
  // What goes wrong counts as a request without a right answer.
  void try_it(asio::awaitable<void> work) {
    try {
      wait(std::move(work));
    } catch (std::exception const& e) {
      note_error(e.what());
    }
  }

  stampede_orders const& orders_;
  stampede_board& board_;
  std::size_t const number_;
  herd_process& mine_;
  std::atomic<int> expiry_{0};
  scheme_stores stores_;
  origin_pool pool_;
  std::unique_ptr<scheme> scheme_;
};

}  // namespace

void play_herd(stampede_orders const& orders, stampede_board& board, std::size_t process) {
  herd(orders, board, process).play();
}

}  // namespace herdlock::lab
