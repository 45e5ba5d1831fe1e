// One mode of the stampede: starts its processes, lets the entry expire again and again, collects.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "scenes/stampede_figures.hpp"
#include "stage/clock.hpp"

namespace herdlock::lab {
namespace {

class mode_play {
 public:
  mode_play(stage& on, stampede_orders const& orders, shared_warnings& warnings)
      : on_(on), orders_(orders), board_(orders, warnings), outcome_(orders) {
    for (std::size_t i = 0; i < board_.each.size(); ++i) {
      on_.processes().start(fmt::format("process {} ({})", i + 1, orders_.mode->name),
                            [this, i] { play_herd(orders_, board_, i); });
    }
    await_all("the processes did not begin");
  }

  void play_expiry(int expiry) {
    int const expires = stampede_step::expires(expiry);
    board_.all->step = expires;
    on_.await(
        "the entry did not expire", [&] { return board_.each[0].done == expires; }, longest());
    auto const go_ns = steady_ns();
    board_.all->step = stampede_step::requests_come(expiry);
    std::optional<killed_loader> killed;
    if (expiry == 1 && orders_.kill_loader && outcome_.name() == std::string_view("fleet")) {
      killed = kill_a_loader();
    }
    await_all("the requests were not all answered");
    outcome_.add_expiry(board_, go_ns, killed);
    if (!killed) return;
    board_.each[killed->number].done = herd_process::not_there;
    on_.processes().start_again(killed->number);
    await_all("the process that stands in for the killed one did not begin");
  }

  stampede_outcome end() && {
    board_.all->step = stampede_step::end;
    on_.await_end(longest());
    on_.clear();
    outcome_.loads = origin(orders_.origin).count_loads({orders_.run, outcome_.name()});
    return std::move(outcome_);
  }

 private:
  // A process that hangs must not hang the scene; one that works on a slow machine must be let.
  milliseconds longest() const {
    auto const rounds = orders_.requests / orders_.connections + 1;
    auto const herd = std::int64_t{orders_.processes} * orders_.requests;
    return std::chrono::seconds(60) + 5 * rounds * orders_.origin.load_time +
           5 * orders_.claim_ttl + milliseconds(herd);
  }

  // Until each process has done the step.
  void await_all(char const* what) {
    int const step = board_.all->step;
    auto const is_done = [step](herd_process const& each) { return each.done == step; };
    on_.await(
        what, [&] { return std::all_of(board_.each.begin(), board_.each.end(), is_done); },
        longest());
  }

  killed_loader kill_a_loader() {
    herd_process* loader = nullptr;
    auto const loads = [](herd_process const& each) { return each.loading_ns != 0; };
    auto const is_found = [&] {
      loader = std::find_if(board_.each.begin(), board_.each.end(), loads);
      return loader != board_.each.end();
    };
    on_.await("no process began to load", is_found, longest());
    on_.pass(orders_.origin.load_time / 2);  // in the middle
    killed_loader const killed{static_cast<std::size_t>(loader - board_.each.begin()), loader->id,
                               loader->loading_ns, steady_ns()};
    on_.processes().kill(killed.number);
    loader->done = board_.all->step.load();  // nobody waits for it
    return killed;
  }

  stage& on_;
  stampede_orders const& orders_;
  stampede_board board_;
  stampede_outcome outcome_;
};

}  // namespace

stampede_outcome play_mode(stage& on, stampede_orders const& orders, shared_warnings& warnings,
                           std::function<void(int expiry)> const& tell) {
  mode_play one(on, orders, warnings);
  for (int expiry = 1; expiry <= orders.expiries; ++expiry) {
    tell(expiry);
    one.play_expiry(expiry);
  }
  return std::move(one).end();
}

}  // namespace herdlock::lab
