// The processes are forked while this one has a single thread: the store that is opened to judge
// its URL is closed before them, and the one that is asked for warnings comes behind them. The
// relays work while this thread waits for anything.
#include "scenes/near.hpp"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <herdlock/open.hpp>
#include <sstream>

#include "stage/bench_board.hpp"
#include "terminal/duration.hpp"
#include "terminal/exit_code.hpp"
#include "terminal/forked_process.hpp"
#include "stage/demo_processes.hpp"
#include "scenes/near_judge.hpp"
#include "scenes/near_teller.hpp"
#include "scenes/near_worker.hpp"
#include "stage/relay.hpp"
#include "scenes/server_warnings.hpp"

namespace herdlock::cli {
namespace {

using namespace std::chrono_literals;

constexpr milliseconds near_patience = 30s;
// A process that cannot do its work says why before this one gives it up.
constexpr milliseconds workers_patience = near_patience - 5s;
constexpr milliseconds tick = 10ms;

class near_play {
 public:
  explicit near_play(near_options const& options);
  int run();

 private:
  near_terms direct_terms() const;
  near_terms terms_through(relay const& way) const;
  void start_writer();
  void start_readers();
  void play();
  void end();
  void clear();

  template <class Condition>
  void await(char const* what, Condition holds);
  void go_on_for(milliseconds time);
  void work();
  bool all_have_seen(std::int64_t change) const;
  void await_last_change();

  near_options const& options_;
  near_board board_;
  near_teller teller_;
  near_freeze freeze_;
  asio::io_context io_{1};
  relay steady_relay_;
  relay freezing_relay_;
  std::string const key_ = "herdlock-demo:" + owner_token::generate().str() + ":near";
  demo_processes writer_{board_.why()};
  demo_processes readers_{board_.why()};
};

near_play::near_play(near_options const& options)
    : options_(options),
      board_(options.processes, options.most_changes()),
      teller_(options, board_),
      steady_relay_(io_, options.server),
      freezing_relay_(io_, options.server) {
  freeze_.first_reader = options.first_frozen();
  value_or_raise(try_open_store(options.store_url));  // what makes no sense is told first
  note_interruptions();
}

near_terms near_play::direct_terms() const {
  return {.url = options_.store_url,
          .address = {},
          .server = {},
          .key = key_,
          // Should nobody take it away, it goes by itself.
          .ttl = options_.time() + near_patience,
          .every = options_.every,
          .max_staleness = options_.max_staleness,
          .patience = workers_patience};
}

near_terms near_play::terms_through(relay const& way) const {
  near_terms terms = direct_terms();
  terms.url = through_port(options_.store_url, way.port());
  terms.address = fmt::format("127.0.0.1:{}", way.port());
  std::ostringstream server;
  server << options_.server;
  terms.server = server.str();
  return terms;
}

void near_play::start_writer() {
  writer_.start("the process that writes", [this] { write_changes(direct_terms(), board_); });
  await("the first write was not acknowledged", [this] { return board_.begun(); });
}

void near_play::start_readers() {
  for (std::size_t n = 0; n < options_.processes; ++n) {
    relay const& way = n < freeze_.first_reader ? steady_relay_ : freezing_relay_;
    near_terms const terms = terms_through(way);
    readers_.start(fmt::format("process {}", n + 1), [&] { read_changes(terms, n, board_); });
  }
  await("a process did not read", [this] {
    for (std::size_t n = 0; n < options_.processes; ++n) {
      if (!board_.reader(n).ready) return false;
    }
    return true;
  });
}

// The relays' bytes, and what has happened meanwhile.
void near_play::work() {
  throw_if_interrupted();
  io_.run_for(tick);
  using may_end = demo_processes::may_end;
  auto const stage = board_.stage();
  readers_.look(stage < near_stage::ending ? may_end::no : may_end::yes);
  writer_.look(stage < near_stage::clearing ? may_end::no : may_end::yes);
}

template <class Condition>
void near_play::await(char const* what, Condition holds) {
  if (work_until(
          holds, [this] { work(); }, near_patience))
    return;
  throw command_error(exit_code::unavailable,
                      fmt::format("{}: {} within {}", options_.shown, what, say(near_patience)));
}

void near_play::go_on_for(milliseconds time) {
  auto const end = steady_ns() + time.count() * 1'000'000;
  while (steady_ns() < end) {
    work();
    teller_.follow(steady_ns());
  }
}

void near_play::play() {
  go_on_for(options_.before_freeze);
  if (options_.freeze > 0ms) {
    await_last_change();
    freezing_relay_.freeze();
    freeze_.from_ns = steady_ns();
    teller_.frozen(freeze_.from_ns);
    go_on_for(options_.freeze);
    freezing_relay_.thaw();
    freeze_.to_ns = steady_ns();
    teller_.thawed(freeze_.to_ns);
  }
  go_on_for(options_.after_freeze);
}

bool near_play::all_have_seen(std::int64_t change) const {
  for (std::size_t n = 0; n < board_.readers(); ++n) {
    if (board_.seen_at(n, change) == 0) return false;
  }
  return true;
}

// The last one as of now: more may come while this waits. Each process has been answered with it
// then. A change that does not come is for the judge.
void near_play::await_last_change() {
  auto const last = board_.acknowledged();
  work_until([&] { return all_have_seen(last); }, [this] { work(); }, near_patience);
}

void near_play::end() {
  board_.go_on_to(near_stage::settling);
  await("the writer did not end", [this] { return board_.settled(); });
  await_last_change();
  teller_.catch_up(steady_ns());
  board_.go_on_to(near_stage::ending);
  await("a process did not end", [this] { return readers_.all_ended(); });
}

void near_play::clear() {
  board_.go_on_to(near_stage::clearing);
  await("the value could not be removed", [this] { return writer_.all_ended(); });
}

int near_play::run() {
  start_writer();
  start_readers();
  teller_.begin(steady_ns());
  board_.go_on_to(near_stage::changing);
  play();
  end();
  near_figures const seen = count(board_, freeze_);
  if (options_.json) {
    teller_.json(seen, freeze_);
  } else {
    teller_.figures(seen);
  }
  clear();
  tell_warnings(options_.store_url);
  bool const kept = broken_promises(seen, options_.max_staleness).empty();
  return static_cast<int>(kept ? exit_code::success : exit_code::promise_broken);
}

}  // namespace

int near_demo(near_options const& options) { return near_play(options).run(); }

}  // namespace herdlock::cli
