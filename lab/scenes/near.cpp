// `herdlock-lab near`: who sees a change when, while connections stand still.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "scenes/near_roles.hpp"
#include "scenes/near_server.hpp"
#include "scenes/near_teller.hpp"
#include "scenes/scenes.hpp"
#include "stage/place.hpp"
#include "stage/server_warnings.hpp"
#include "stage/wire.hpp"

namespace herdlock::lab {
namespace {

using namespace std::chrono_literals;

constexpr milliseconds near_patience = 30s;
// A process that cannot do its work says why before the scene gives it up.
constexpr milliseconds workers_patience = near_patience - 5s;
// Where they are not given, and --time is not too short for them.
constexpr milliseconds usual_freeze = 2'500ms;
constexpr milliseconds usual_every = 400ms;

constexpr char const* help =
    R"(One process changes a value again and again. The others read it as fast as they
can, each from what it keeps itself (a near cache): Redis tells them of each
change. In the middle the connections of some of them stand still: the sockets
stay open, and nothing comes any more, as when a network cable is pulled.

A line for each change, written when the next one comes; a column for each
process:

  0.7    it served the change 0.7 ms after the write was acknowledged
  old    when its line was written it still served an older value
  waits  it has no answer: it no longer trusts what it keeps, and asks Redis
  fails  the question to Redis has run into the store's timeout, or the value
         is gone

So a process whose connection is dead serves an old value for --max-staleness at
most. Who cannot wait so long asks for a fence: what is read behind it is no
older than the fence. Each process does that, too, 50 times a second.

The connections of the readers pass through a relay of the scene, so the store
is one Redis server over plain TCP: redis://HOST:PORT, Redis 7.0 or newer, or
Valkey. For one that nobody else uses:
  redis-server --port 7777 --save '' --daemonize yes

A password in a URL can be read by every user in the list of processes: this
command has HERDLOCK_STORE for it.

A write that the store does not answer in time is done again.

Exit status: 0; 1 if a promise was broken: a value was old for longer than
--max-staleness, or old behind a fence, or a change never came; 64 for usage and
for a store whose values cannot be kept; 69 if the store cannot be used, or a
process was killed; 70 for lack of memory or processes, or if the output cannot
be written.

Examples:
  herdlock-lab near --store redis://127.0.0.1:7777
  herdlock-lab near --store redis://127.0.0.1:7777 --max-staleness 300ms
  herdlock-lab near --store redis://127.0.0.1:7777 --processes 16 --frozen 16 \
    --time 20s --freeze 5s)";

class near_play {
 public:
  near_play(near_plan const& plan, near_server server, stage& on)
      : plan_(plan),
        server_(std::move(server)),
        on_(on),
        board_(static_cast<std::size_t>(plan.processes), plan.most_changes(), plan.most_changes()),
        teller_(plan, board_, on) {
    freeze_.first_reader = static_cast<std::size_t>(plan.first_frozen());
  }

  void run() {
    place const where(plan_.url, place::without_url::file);
    auto const goes_on = [this] { return !board_.all(&near_record::ended); };
    wire steady(on_, server_.host, server_.port, goes_on);
    wire freezing(on_, server_.host, server_.port, goes_on);
    start_writer();
    start_readers(steady, freezing);
    teller_.begin();
    on_.meanwhile([this] { teller_.follow(); });
    board_.state().stage = near_stage::changing;
    change(freezing);
    end();
    near_figures const seen = count(board_, freeze_);
    judge_near(seen, {.max_staleness = plan_.max_staleness}, on_.judged());
    teller_.figures(seen, freeze_);
    board_.state().stage = near_stage::clearing;
    on_.await_end(near_patience);
    tell_warnings(plan_.url);
  }

 private:
  near_terms direct_terms() const {
    return {.url = plan_.url,
            .address = {},
            .server = {},
            .key = key_,
            // Should nobody take it away, it goes by itself.
            .ttl = plan_.time + near_patience,
            .every = plan_.every,
            .max_staleness = plan_.max_staleness,
            .patience = workers_patience};
  }

  void start_writer() {
    on_.processes().start("the process that writes",
                          [this] { write_changes(direct_terms(), board_); });
    await("the first write was not acknowledged", [this] { return board_.state().begun.load(); });
  }

  void start_readers(wire const& steady, wire const& freezing) {
    for (std::size_t n = 0; n < board_.readers(); ++n) {
      near_terms terms = direct_terms();
      wire const& way = n < freeze_.first_reader ? steady : freezing;
      terms.address = fmt::format("127.0.0.1:{}", way.port());
      terms.server = server_.shown;
      terms.url = led_to(terms.address, plan_.url);
      on_.processes().start(fmt::format("process {}", n + 1),
                            [this, terms, n] { read_changes(terms, n, board_); });
    }
    await("a process did not read", [this] { return board_.all(&near_record::ready); });
  }

  template <class Condition>
  void await(char const* what, Condition holds) {
    on_.await(fmt::format("{}: {}", plan_.shown, what), holds, near_patience);
  }

  void change(wire& freezing) {
    on_.pass(plan_.before_freeze());
    if (plan_.freeze > 0ms) {
      await_last_change();
      freezing.freeze();
      freeze_.from_ns = steady_ns();
      teller_.event("stands still", "stand still");
      on_.pass(plan_.freeze);
      freezing.thaw();
      freeze_.to_ns = steady_ns();
      teller_.event("goes on", "go on");
    }
    on_.pass(plan_.after_freeze());
  }

  // The last one as of now: more may come while this waits. Each process has been answered with it
  // then. A change that does not come is for the judge.
  void await_last_change() {
    auto const last = board_.acknowledged();
    auto const all_have_seen_it = [&] {
      for (std::size_t n = 0; n < board_.readers(); ++n) {
        if (board_.times(n, last).seen_ns == 0) return false;
      }
      return true;
    };
    if (last > 0) on_.waited_for(all_have_seen_it, near_patience);
  }

  void end() {
    board_.state().stage = near_stage::settling;
    await("the writer did not end", [this] { return board_.state().settled.load(); });
    await_last_change();
    teller_.catch_up();
    on_.let_end();
    board_.state().stage = near_stage::ending;
    await("a process did not end", [this] { return board_.all(&near_record::ended); });
  }

  near_plan const& plan_;
  near_server const server_;
  stage& on_;
  near_board board_;
  near_teller teller_;
  near_freeze freeze_;
  std::string const key_ = fresh_name() + ":near";
};

class near final : public scene {
 public:
  void declare(options& all) override {
    all.store(plan_.url, "The Redis server where the value is");
    all.number("--processes", plan_.processes, {1, 64}, "Real processes that read", "P");
    all.app()
        .add_option("--frozen", frozen_,
                    "The connections of so many of them stand still in the middle\n"
                    "(default: half of them)")
        ->type_name("N");
    all.text("--freeze", freeze_,
             "For how long (default: 2500ms, but no longer than\na quarter of --time)", "TIME");
    all.time("--max-staleness", plan_.max_staleness, {10ms, 10min},
             "How old a value may be that a process serves by itself");
    all.text("--every", every_,
             "How often the value is changed (default: 400ms, but\n"
             "no longer than a quarter of --time)",
             "TIME");
    all.time("--time", plan_.time, {1s, 2min}, "How long it is changed altogether");
  }

  void check() override {
    server_ = near_server::of(plan_.url);
    plan_.shown = redacted(plan_.url);
    plan_.frozen = frozen_.value_or((plan_.processes + 1) / 2);
    if (plan_.frozen < 0 || plan_.frozen > plan_.processes) {
      throw command_error(exit_code::usage,
                          fmt::format("--frozen {}: must be between 0 and {}, the --processes",
                                      plan_.frozen, plan_.processes));
    }
    plan_.freeze = std::min(usual_freeze, plan_.time / 4);
    if (!freeze_.empty()) {
      plan_.freeze = cli::duration_between("--freeze", freeze_, 0ms, plan_.time / 2);
    }
    if (plan_.freeze == 0ms) plan_.frozen = 0;
    plan_.every = std::min(usual_every, plan_.time / 4);
    if (!every_.empty()) {
      plan_.every = cli::duration_between("--every", every_, 20ms, plan_.time / 4);
    }
  }

  void play(stage& on) override { near_play(plan_, server_, on).run(); }

 private:
  near_plan plan_;
  near_server server_;
  std::optional<int> frozen_;
  std::string freeze_;  // as typed
  std::string every_;
};

}  // namespace

listed_scene const near_scene{
    "near", "A value kept in each process is changed: who sees it when, and who is cut off?", help,
    false, made<near>};

}  // namespace herdlock::lab
