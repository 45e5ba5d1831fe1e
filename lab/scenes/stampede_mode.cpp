// One mode of the stampede: its processes, and who lets the entry expire again and again.
#include <unistd.h>

#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <future>

#include "scenes/stampede.hpp"

namespace herdlock::lab {
namespace {

using verdict = right_products::verdict;

// One process.
struct herd {
  stampede_orders const& orders;
  stampede_board& board;
  std::size_t const number;
  herd_process& mine = board.each[number];
  std::atomic<int> expiry{0};
  std::unique_ptr<scheme> const guard = make_scheme(orders, [this] { return load(); });
  origin_pool pool{orders.origin, orders.connections};

  void play(shared_warnings& warnings) {
    wait(guard->look());
    int now = *board.step;  // a process that stands in for a killed one leaves out its step
    mine.id = ::getpid();
    mine.done = now;
    while ((now = next_step(now)) != stampede_board::end) {
      expiry = (now + 1) / 2;
      if (now % 2 == 0) {
        answer_requests();
      } else if (number == 0) {
        // The new product is what the database has by now, so that an answer which was not loaded
        // anew is told from one that was.
        wait(guard->play_expiry(product_at(expiry - 1)));
        origin(orders.origin).revise(expiry);
      }
      mine.done = now;
    }
    if (number == 0) wait(guard->remove());
    warnings.note(guard->values());
  }

  // Who waits here in vain is killed with the scene's own process.
  int next_step(int done) const {
    while (*board.step == done) nap();
    return *board.step;
  }

  void answer_requests() {
    wait(guard->get_ready());
    right_products const right(*orders.mode, expiry);
    mine.counts = {};
    mine.loads = 0;
    mine.loading_ns = 0;
    auto const waited_before = guard->stats().misses;
    mine.started_ns = steady_ns();
    for (auto const& each : ask_at_once(right)) {
      board.answers_of(number)[mine.counts.answers++] = each;
      mine.counts.stale += each.is_old;
    }
    if (right.old) try_it(ask_until_fresh(right));
    mine.counts.waited = guard->stats().misses - waited_before;
    if (!orders.mode->keeps_near) return;
    try_it(ask_until_kept());
    auto const hits_before = guard->stats().near_hits;
    ask_at_once(right);
    mine.counts.near_hits = guard->stats().near_hits - hits_before;
  }

  // Returns the right answers when the last has come. All happens on the store's executor.
  std::vector<right_answer> ask_at_once(right_products const& right) {
    std::vector<right_answer> answered;
    std::promise<void> all;
    int open = orders.requests;
    auto const ask = [&]() -> awaitable<void> {
      try {
        product const answer = co_await guard->ask();
        auto const is = right.judged(answer);
        if (is == verdict::wrong) throw std::runtime_error(right.refused(answer));
        answered.push_back({steady_ns(), is == verdict::old});
      } catch (std::exception const& e) {
        note_error(e.what());
      }
      if (--open == 0) all.set_value();
    };
    auto const executor = guard->values().get_executor();
    asio::post(executor, [&, executor] {
      for (int i = 0; i < orders.requests; ++i) asio::co_spawn(executor, ask(), asio::detached);
    });
    all.get_future().get();
    return answered;
  }

  // Where old answers are right, one who goes on asking gets the new one nevertheless. Then the
  // load behind them has ended.
  awaitable<void> ask_until_fresh(right_products right) {
    auto const end = steady_ns() + in_ns(orders.load_limit());
    product answer = co_await guard->ask();
    while (right.judged(answer) == verdict::old && steady_ns() < end) {
      co_await sleep_for(milliseconds(5));
      answer = co_await guard->ask();
    }
    if (answer != right.fresh) throw std::runtime_error(right.refused(answer));
  }

  // A value is kept from the next read on that finds it; that which this process has loaded may be
  // on its way into the store.
  awaitable<void> ask_until_kept() {
    auto const end = steady_ns() + in_ns(milliseconds(1'000));
    auto const before = guard->stats().near_hits;
    while (guard->stats().near_hits == before && steady_ns() < end) {
      co_await guard->ask();
      co_await sleep_for(milliseconds(1));
    }
  }

  awaitable<product> load() {
    auto const from = steady_ns();
    load_label const label{orders.run, orders.mode->name, expiry};
    std::function<void()> const logged = [this] { note_first(mine.loading_ns, steady_ns()); };
    product loaded = co_await pool.load(label, logged);
    auto const at = mine.loads++;
    if (at < board.max_loads) board.loads_of(number)[at] = {from, steady_ns(), 0};
    co_return loaded;
  }

  void note_error(std::string const& text) {
    ++mine.counts.errors;
    board.first_error->raise(exit_code::promise_broken, text);
  }
  void wait(awaitable<void> work) {
    asio::co_spawn(guard->values().get_executor(), std::move(work), asio::use_future).get();
  }
  // What goes wrong counts as a request without a right answer.
  void try_it(awaitable<void> work) {
    try {
      wait(std::move(work));
    } catch (std::exception const& e) {
      note_error(e.what());
    }
  }
};

struct mode_play {
  stage& on;
  stampede_orders const& orders;
  stampede_board board{orders};
  stampede_outcome outcome{orders};

  stampede_outcome play(shared_warnings& warnings, std::function<void(int)> const& tell) {
    for (std::size_t i = 0; i < board.each.size(); ++i) {
      on.processes().start(fmt::format("process {} ({})", i + 1, outcome.name()), [&, i] {
        herd{orders, board, i}.play(warnings);
      });
    }
    await_all("the processes did not begin");
    for (int expiry = 1; expiry <= orders.expiries; ++expiry) {
      tell(expiry);
      play_expiry(expiry);
    }
    *board.step = stampede_board::end;
    on.await_end(orders.patience());
    on.clear();
    outcome.loads = origin(orders.origin).count_loads({orders.run, outcome.name()});
    return std::move(outcome);
  }

  void play_expiry(int expiry) {
    int const expires = 2 * expiry - 1;
    *board.step = expires;
    await("the entry did not expire", [&] { return board.each[0].done == expires; });
    auto const go_ns = steady_ns();
    *board.step = expires + 1;
    std::optional<std::size_t> killed;
    if (expiry == 1 && orders.kill_loader && outcome.name() == std::string_view("fleet")) {
      killed = kill_a_loader();
    }
    await_all("the requests were not all answered");
    outcome.add_expiry(board, go_ns);
    if (!killed) return;
    board.each[*killed].done = herd_process::not_there;
    on.processes().start_again(*killed);
    await_all("the process that stands in for the killed one did not begin");
  }

  template <class Condition>
  void await(char const* what, Condition holds) {
    on.await(what, holds, orders.patience());
  }
  // Until each process has done the step.
  void await_all(char const* what) {
    int const step = *board.step;
    auto const is_done = [step](herd_process const& each) { return each.done == step; };
    await(what, [&] { return std::ranges::all_of(board.each, is_done); });
  }

  // All that it leaves is its load.
  std::size_t kill_a_loader() {
    herd_process* one = nullptr;
    await("no process began to load", [&] {
      one = std::ranges::find_if(board.each, &herd_process::loading_ns);
      return one != board.each.end();
    });
    on.pass(orders.origin.load_time / 2);  // in the middle
    std::size_t const number = one - board.each.begin();
    load_span const its_load{one->loading_ns, steady_ns(), one->id};
    on.processes().kill(number);
    board.loads_of(number)[0] = its_load;
    one->loads = 1;
    one->counts = {};
    one->done = board.step->load();  // nobody waits for it
    return number;
  }
};

}  // namespace

stampede_outcome play_mode(stage& on, stampede_orders const& orders, shared_warnings& warnings,
                           std::function<void(int expiry)> const& tell) {
  return mode_play{on, orders}.play(warnings, tell);
}

}  // namespace herdlock::lab
