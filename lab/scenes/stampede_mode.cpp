// One mode of the stampede: its processes, and who lets the entry expire again and again.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "scenes/stampede.hpp"
#include "stage/clock.hpp"

namespace herdlock::lab {
namespace {

using verdict = right_products::verdict;

// One process.
class herd {
 public:
  herd(stampede_orders const& orders, stampede_board& board, std::size_t number)
      : orders_(orders),
        board_(board),
        number_(number),
        mine_(board.each[number]),
        scheme_(make_scheme(orders, [this] { return load(); })),
        pool_(orders.origin, orders.connections) {
    wait(scheme_->look());
  }

  void play(shared_warnings& warnings) {
    int now = board_.all->step;  // a process that stands in for a killed one leaves out its step
    mine_.id = ::getpid();
    mine_.done = now;
    while ((now = next_step(now)) != stampede_board::end) {
      expiry_ = (now + 1) / 2;
      if (now % 2 == 0) {
        answer_requests();
      } else if (number_ == 0) {
        // The new product is what the database has by now, so that an answer which was not loaded
        // anew is told from one that was.
        wait(scheme_->play_expiry(product_at(expiry_ - 1)));
        origin(orders_.origin).revise(expiry_);
      }
      mine_.done = now;
    }
    if (number_ == 0) wait(scheme_->remove());
    warnings.note(scheme_->values());
  }

 private:
  // Who waits here in vain is killed with the scene's own process.
  int next_step(int done) const {
    while (board_.all->step == done) std::this_thread::sleep_for(milliseconds(1));
    return board_.all->step;
  }

  void answer_requests() {
    wait(scheme_->get_ready());
    right_products const right(*orders_.mode, expiry_);
    mine_.counts = {};
    mine_.loads = 0;
    mine_.loading_ns = 0;
    auto const waited_before = scheme_->waited();
    mine_.started_ns = steady_ns();
    for (auto const& each : ask_at_once(right)) {
      board_.answers_of(number_)[mine_.counts.answers++] = each;
      mine_.counts.stale += each.is_old;
    }
    if (right.old) try_it(ask_until_fresh(right));
    mine_.counts.waited = scheme_->waited() - waited_before;
    if (!orders_.mode->keeps_near) return;
    try_it(ask_until_kept());
    auto const hits_before = scheme_->near_hits();
    ask_at_once(right);
    mine_.counts.near_hits = scheme_->near_hits() - hits_before;
  }

  // Returns the right answers when the last has come. All happens on the store's executor.
  std::vector<right_answer> ask_at_once(right_products const& right) {
    std::vector<right_answer> answered;
    std::promise<void> all;
    int open = orders_.requests;
    auto const ask = [&]() -> asio::awaitable<void> {
      try {
        product const answer = co_await scheme_->ask();
        auto const is = right.judged(answer);
        if (is == verdict::wrong) throw std::runtime_error(right.refused(answer));
        answered.push_back({steady_ns(), is == verdict::old});
      } catch (std::exception const& e) {
        note_error(e.what());
      }
      if (--open == 0) all.set_value();
    };
    auto const executor = scheme_->values().get_executor();
    asio::post(executor, [&, executor] {
      for (int i = 0; i < orders_.requests; ++i) asio::co_spawn(executor, ask(), asio::detached);
    });
    all.get_future().get();
    return answered;
  }

  // Where old answers are right, one who goes on asking gets the new one nevertheless. Then the
  // load behind them has ended.
  asio::awaitable<void> ask_until_fresh(right_products right) {
    auto const end = steady_ns() + in_ns(orders_.load_limit());
    product answer = co_await scheme_->ask();
    while (right.judged(answer) == verdict::old && steady_ns() < end) {
      co_await sleep_for(milliseconds(5));
      answer = co_await scheme_->ask();
    }
    if (answer != right.fresh) throw std::runtime_error(right.refused(answer));
  }

  // A value is kept from the next read on that finds it; that which this process has loaded may be
  // on its way into the store.
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
    load_label const label{orders_.run, orders_.mode->name, expiry_};
    std::function<void()> const logged = [this] { note_first(mine_.loading_ns, steady_ns()); };
    product loaded = co_await pool_.load(label, logged);
    auto const at = mine_.loads++;
    if (at < board_.max_loads) board_.loads_of(number_)[at] = {from, steady_ns(), 0};
    co_return loaded;
  }

  void note_error(std::string const& text) {
    ++mine_.counts.errors;
    board_.all->first_error.raise(exit_code::promise_broken, text);
  }
  void wait(asio::awaitable<void> work) {
    asio::co_spawn(scheme_->values().get_executor(), std::move(work), asio::use_future).get();
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
  std::unique_ptr<scheme> const scheme_;
  origin_pool pool_;
};

class mode_play {
 public:
  mode_play(stage& on, stampede_orders const& orders, shared_warnings& warnings)
      : on_(on), orders_(orders), board_(orders), outcome_(orders) {
    for (std::size_t i = 0; i < board_.each.size(); ++i) {
      on_.processes().start(fmt::format("process {} ({})", i + 1, orders_.mode->name),
                            [&, i] { herd(orders_, board_, i).play(warnings); });
    }
    await_all("the processes did not begin");
  }

  stampede_outcome play(std::function<void(int expiry)> const& tell) {
    for (int expiry = 1; expiry <= orders_.expiries; ++expiry) {
      tell(expiry);
      play_expiry(expiry);
    }
    board_.all->step = stampede_board::end;
    on_.await_end(orders_.patience());
    on_.clear();
    outcome_.loads = origin(orders_.origin).count_loads({orders_.run, outcome_.name()});
    return std::move(outcome_);
  }

 private:
  void play_expiry(int expiry) {
    int const expires = 2 * expiry - 1;
    board_.all->step = expires;
    await("the entry did not expire", [&] { return board_.each[0].done == expires; });
    auto const go_ns = steady_ns();
    board_.all->step = expires + 1;
    std::optional<std::size_t> killed;
    if (expiry == 1 && orders_.kill_loader && outcome_.name() == std::string_view("fleet")) {
      killed = kill_a_loader();
    }
    await_all("the requests were not all answered");
    outcome_.add_expiry(board_, go_ns);
    if (!killed) return;
    board_.each[*killed].done = herd_process::not_there;
    on_.processes().start_again(*killed);
    await_all("the process that stands in for the killed one did not begin");
  }

  template <class Condition>
  void await(char const* what, Condition holds) {
    on_.await(what, holds, orders_.patience());
  }
  // Until each process has done the step.
  void await_all(char const* what) {
    int const step = board_.all->step;
    auto const is_done = [step](herd_process const& each) { return each.done == step; };
    await(what, [&] { return std::all_of(board_.each.begin(), board_.each.end(), is_done); });
  }

  // All that it leaves is its load.
  std::size_t kill_a_loader() {
    auto const loads = [](herd_process const& each) { return each.loading_ns != 0; };
    herd_process* one = nullptr;
    await("no process began to load", [&] {
      one = std::find_if(board_.each.begin(), board_.each.end(), loads);
      return one != board_.each.end();
    });
    on_.pass(orders_.origin.load_time / 2);  // in the middle
    auto const number = static_cast<std::size_t>(one - board_.each.begin());
    load_span const its_load{one->loading_ns, steady_ns(), one->id};
    on_.processes().kill(number);
    board_.loads_of(number)[0] = its_load;
    one->loads = 1;
    one->counts = {};
    one->done = board_.all->step.load();  // nobody waits for it
    return number;
  }

  stage& on_;
  stampede_orders const& orders_;
  stampede_board board_;
  stampede_outcome outcome_;
};

}  // namespace

stampede_outcome play_mode(stage& on, stampede_orders const& orders, shared_warnings& warnings,
                           std::function<void(int expiry)> const& tell) {
  return mode_play(on, orders, warnings).play(tell);
}

}  // namespace herdlock::lab
