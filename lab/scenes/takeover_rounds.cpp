#include "scenes/takeover_rounds.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <array>
#include <boost/asio/use_future.hpp>
#include <condition_variable>
#include <future>
#include <herdlock/election.hpp>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "stage/bench_board.hpp"
#include "scenes/takeover_board.hpp"
#include "terminal/exit_code.hpp"
#include "terminal/forked_process.hpp"

namespace herdlock::cli {
namespace {

using namespace std::chrono_literals;

constexpr milliseconds round_patience = 90s;
constexpr milliseconds settling = 200ms;  // the others wait in the store's queue by then
constexpr milliseconds act_every = 1ms;

double ms_between(std::int64_t from_ns, std::int64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) / 1e6;
}

struct race {
  std::string url;
  resource name;
  milliseconds ttl;
  takeover_board& board;
};

// ------------------------------------------------------------------------ in a candidate's process

// Acts as long as its term stands, and asks before each act.
void work(takeover_board& board, int who, election_term& term) {
  if (!term.valid()) return;
  board.begin(who, term.number().value);
  std::mutex mutex;
  std::condition_variable_any told;
  std::unique_lock guard(mutex);
  while (!told.wait_for(guard, term.stop_token(), act_every, [&] { return !term.valid(); })) {
    if (term.stop_token().stop_requested() || !term.valid()) break;
    board.act(term.number().value);
  }
  board.end(who);
}

election_options options_of(race const& in, int who) {
  election_options options;
  options.ttl = in.ttl;
  options.back_off_first = 20ms;
  options.back_off_most = 200ms;
  options.candidate = fmt::format("candidate {}", who);
  options.on_transition = [&in, who](election_transition const& what) {
    in.board.at(who).since_ns = steady_ns();
    in.board.at(who).state = what.to;
  };
  return options;
}

void stand(race const& in, int who) {
  auto const opened = open_store(in.url);
  takeover_board& board = in.board;
  takeover_board::seat& seat = board.at(who);
  auto const services = election_services{
      in_thread([&board, who](election_term& term) { work(board, who, term); }), {}};
  election job(opened, in.name, services, options_of(in, who));
  while (!board.over) {
    if (!seat.stand) {
      std::this_thread::sleep_for(1ms);
      continue;
    }
    auto campaign = job.async_campaign(asio::use_future);
    while (campaign.wait_for(1ms) != std::future_status::ready) {
      bool const ordered = seat.resign.exchange(false);
      if (!ordered && !board.over) continue;
      seat.resigned_ns = steady_ns();
      job.resign();
    }
    campaign.get();
  }
}

// ------------------------------------------------------------------------------- in the parent's

class contest {
 public:
  contest(race const& in, std::function<void(int)> const& progress) : in_(in), progress_(progress) {
    note_interruptions();
    for (int who = 0; who < takeover_board::candidates; ++who) start(who);
  }
  ~contest() { in_.board.over = true; }
  contest(contest const&) = delete;
  contest& operator=(contest const&) = delete;

  void run(leader_stop how, int rounds, takeover_figures& into) {
    for (int round = 1; round <= rounds; ++round) {
      progress_(round);
      settle();
      if (how != leader_stop::graceful) dwell();
      int const old = leader_at_rest();
      std::int64_t const since = stop(how, old);
      int const next = await_successor();
      into.took_ms.push_back(ms_between(since, in_.board.at(next).begun_ns));
      bring_back(how, old, into);
    }
    // What a late act would still add.
    settle();
  }

 private:
  void start(int who) {
    in_.board.clear(who);
    processes_.at(static_cast<std::size_t>(who))
        .emplace([this, who] { stand(in_, who); },
                 [this](std::string_view why) { in_.board.complain(why); });
  }

  // Returns when `holds` does.
  template <class Condition>
  void await(char const* what, Condition holds) {
    auto const end = steady_ns() + round_patience.count() * 1'000'000;
    while (!holds()) {
      throw_if_interrupted();
      require_alive();
      if (steady_ns() > end) {
        throw command_error(exit_code::unavailable,
                            fmt::format("{} within {} s", what, round_patience.count() / 1000));
      }
      std::this_thread::sleep_for(1ms);
    }
  }

  void require_alive() {
    for (auto& each : processes_) {
      if (!each || !each->ended()) continue;
      std::string const why(in_.board.complaint());
      throw command_error(exit_code::unavailable, why.empty() ? "a candidate died by itself" : why);
    }
  }

  // One works, the others wait in the store's queue.
  void settle() {
    await("the candidates did not come to rest", [this] {
      int const leader = in_.board.leader();
      if (leader == takeover_board::nobody) return false;
      for (int who = 0; who < takeover_board::candidates; ++who) {
        auto const& seat = in_.board.at(who);
        auto const wanted = who == leader ? election_state::working : election_state::acquiring;
        if (seat.state != wanted) return false;
        if (steady_ns() - seat.since_ns < settling.count() * 1'000'000) return false;
      }
      return true;
    });
    old_term_ = in_.board.highest();
  }

  int leader_at_rest() const {
    int const who = in_.board.leader();
    if (who != takeover_board::nobody) return who;
    throw command_error(
        exit_code::unavailable,
        "the leader lost its term by itself; is the machine too busy for this ttl?");
  }

  // To any moment between two renewals.
  void dwell() {
    std::uniform_int_distribution<std::int64_t> any(0, in_.ttl.count() / 2);
    auto const end = steady_ns() + any(random_) * 1'000'000;
    await("a moment did not pass", [end] { return steady_ns() >= end; });
  }

  std::int64_t stop(leader_stop how, int who) {
    auto& seat = in_.board.at(who);
    auto& process = processes_.at(static_cast<std::size_t>(who));
    if (how == leader_stop::graceful) {
      seat.stand = false;
      seat.resign = true;
      await("a leader did not resign", [&] { return !seat.resign && seat.working == 0; });
      return seat.resigned_ns;
    }
    in_.board.excused = who;
    auto const now = steady_ns();
    if (how == leader_stop::kill) {
      process->kill();
    } else {
      process->signal(SIGSTOP);
    }
    return now;
  }

  int await_successor() {
    int next = takeover_board::nobody;
    await("nobody took over", [&] {
      if (in_.board.highest() > old_term_) next = in_.board.leader();
      return next != takeover_board::nobody;
    });
    return next;
  }

  void bring_back(leader_stop how, int who, takeover_figures& into) {
    auto& seat = in_.board.at(who);
    auto const& process = processes_.at(static_cast<std::size_t>(who));
    if (how == leader_stop::kill) {
      start(who);
    } else if (how == leader_stop::freeze) {
      auto const thawed = steady_ns();
      process->signal(SIGCONT);
      await("a frozen leader did not stop", [&] { return seat.working != old_term_; });
      into.thawed_ms.push_back(ms_between(thawed, seat.ended_ns));
    }
    in_.board.excused = takeover_board::nobody;
    seat.stand = true;
  }

  race const& in_;
  std::function<void(int)> const& progress_;
  std::uint64_t old_term_ = 0;
  std::minstd_rand random_{std::random_device()()};
  std::array<std::optional<forked_process>, takeover_board::candidates> processes_;
};

}  // namespace

char const* name_of(leader_stop how) {
  switch (how) {
    case leader_stop::graceful:
      return "graceful";
    case leader_stop::kill:
      return "kill";
    case leader_stop::freeze:
      break;
  }
  return "freeze";
}

void measure_takeover(std::string const& url, int rounds, milliseconds ttl,
                      std::function<void(int round)> const& progress, takeover_figures& into) {
  auto& board = takeover_board::in_shared_memory();
  auto const name = "herdlock-bench:" + owner_token::generate().str();
  race const in{url, resource(name), ttl, board};
  {
    contest between(in, progress);
    between.run(into.how, rounds, into);
  }
  into.acts = board.acts();
  into.overlaps = board.overlaps();
}

}  // namespace herdlock::cli
