// `herdlock elect`: a command that runs on the leader, restarted at each term.
#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "commands.hpp"
#include "common/arguments.hpp"
#include "common/guard.hpp"
#include "common/signal_watch.hpp"
#include "common/work_options.hpp"
#include "terminal/duration.hpp"
#include "terminal/notice.hpp"
#include "terminal/warnings.hpp"

namespace herdlock::cli {
namespace {

constexpr milliseconds longest_rest{5'000};
constexpr int most_terms = 1'000'000;

constexpr char const* elect_footer =
#include "elect/elect_help.txt"
    ;

// As typed.
struct elect_arguments {
  work_arguments work;
  std::string rest = "200ms";
  std::string candidate;
  std::string diagram;
  int terms = 0;
  bool once = false;
};

// As meant.
struct elect_options {
  work_options work;
  milliseconds rest;
  std::string candidate;     // empty: host:pid:random
  std::optional<int> terms;  // stand down after so many
  bool once;                 // stand down when the command ends by itself
};

elect_options checked(elect_arguments const& given) {
  work_options work = checked(given.work);
  auto const rest = duration_between("--rest", given.rest, milliseconds{1}, std::chrono::hours{1});
  if (given.terms < 0 || given.terms > most_terms) {
    refuse("--terms {}: must be between 1 and {}", given.terms, most_terms);
  }
  auto const terms = given.terms == 0 ? std::nullopt : std::optional(given.terms);
  return {std::move(work), rest, given.candidate, terms, given.once};
}

std::string in_words(election_transition const& what) {
  std::string const term = fmt::format("term {}", what.term.value);
  switch (what.event) {
    case election_event::campaign:
      return "stands";
    case election_event::rested:
      return "stands again";
    case election_event::granted:
      return what.to == election_state::working ? "leads, " + term : term + " came too late";
    case election_event::failed:
      return what.to == election_state::waiting
                 ? fmt::format("trouble with the store, trying on: {}", what.why.message)
                 : "has withdrawn";
    case election_event::refused:
      return "refused: " + what.why.message;
    case election_event::lost:
      return fmt::format("{} is lost, stopping: {}", term, what.why.message);
    case election_event::finished:
      return "the command has ended by itself, " + term;
    case election_event::stopped:
      return what.to == election_state::waiting
                 ? fmt::format("stopped, rests for {}", say(what.back_off))
                 : "stopped, giving the term back";
    case election_event::overdue:
      return term + " is over, and the command has not stopped";
    case election_event::resign:
      return "resigns";
    case election_event::released:
      return what.why.code ? "gone; the term ends by its ttl: " + what.why.message : "gone";
  }
  return {};
}

// What is said about each transition, on standard error: standard output is the command's. Called
// on the store's executor.
class elect_log : public event_log {
 public:
  using event_log::event_log;

  // Without --verbose: what goes wrong, and that it is right again. The loss and the refusal are
  // told elsewhere.
  void tell(election_transition const& what) {
    event_log::tell(what);
    bool const trouble = what.event == election_event::failed && what.to == election_state::waiting;
    bool const worth_it = (trouble && !in_trouble_) || what.event == election_event::overdue ||
                          (what.event == election_event::granted && in_trouble_) ||
                          (what.event == election_event::released && what.why.code);
    if (trouble) in_trouble_ = true;
    if (what.event == election_event::granted) in_trouble_ = false;
    if (of_.form == event_form::quiet && !worth_it) return;
    bool const begins = what.event == election_event::campaign;
    line(fmt::format("{}: {}{}", of_.candidate, in_words(what), begins ? " at " + of_.store : ""));
  }

 private:
  bool in_trouble_ = false;
};

// A command that is started again and again has no use for the terminal, and Ctrl-C is for us.
void let_go_of_the_terminal() {
  if (::isatty(STDIN_FILENO) != 1) return;
  unique_fd const nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (nothing.get() >= 0) ::dup2(nothing.get(), STDIN_FILENO);
}

// Everything but the store's work, and so every process, is on the thread that runs `io_`.
class session {
 public:
  explicit session(elect_options const& options);
  int go();

 private:
  election_options campaign_options();
  asio::awaitable<void> work(election_term& term);
  asio::awaitable<void> run(election_term& term);
  void on_signal(int number);

  elect_options const& options_;
  prepared_command command_;
  asio::io_context io_;
  signal_watch signals_{io_, work_signals, [this](int number) { on_signal(number); }};
  guard* guard_ = nullptr;
  store store_;
  std::optional<elect_log> log_;
  election election_;
  warnings_teller warnings_;
  int terms_ = 0;
  int last_status_ = 0;
  bool interrupted_ = false;
  std::exception_ptr fatal_;
};

session::session(elect_options const& options)
    : options_(options),
      command_(options.work.command),
      store_(value_or_raise(try_open_store(options.work.where.url))),
      election_(store_, options.work.name,
                {[this](election_term& term) { return work(term); },
                 [this](election_term&) -> asio::awaitable<void> {
                   if (guard_) guard_->end();
                   co_return;
                 }},
                campaign_options()) {
  log_.emplace(event_source{options.work.name.str(), election_.candidate(), store_.display_name(),
                            options.work.log});
  if (options.work.where.by_default) log_->warn(about_default_store());
  open_signals();
}

election_options session::campaign_options() {
  return {.ttl = options_.work.ttl,
          .stop_grace = options_.work.stopping_in(store_).stop_grace,
          .back_off_first = options_.rest,
          .back_off_most = std::max(longest_rest, options_.rest),
          .candidate = options_.candidate,
          .executor = io_.get_executor(),
          .on_transition = [this](election_transition const& what) { log_->tell(what); }};
}

asio::awaitable<void> session::work(election_term& term) {
  // The command ends when the guard says so, not when a wait is cut short.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  ++terms_;
  try {
    auto running = run(term);
    co_await std::move(running);
  } catch (command_error const& e) {
    // Too late to start it: that is what the next term is for.
    if (e.code() != exit_code::lost) fatal_ = std::current_exception();
    last_status_ = static_cast<int>(e.code());
  }
  bool const by_itself = !term.stop_token().stop_requested();
  bool const enough = options_.terms && terms_ >= *options_.terms;
  if (fatal_ || enough || (options_.once && by_itself)) election_.resign();
}

asio::awaitable<void> session::run(election_term& term) {
  warnings_.tell(store_);
  if (terms_ == 1) log_->notes(store_);
  if (term.stop_token().stop_requested()) co_return;
  std::string const number = std::to_string(term.number().value);
  command_.set_environment({{"HERDLOCK_RESOURCE", options_.work.name.str()},
                            {"HERDLOCK_TERM", number},
                            {"HERDLOCK_FENCING_TOKEN", number},
                            {"HERDLOCK_CANDIDATE", term.candidate()}});
  asio::steady_timer ended(io_, asio::steady_timer::time_point::max());
  auto const on_end = [&](int status) {
    last_status_ = status;
    ended.cancel();
  };
  auto const [stop_grace, told] = options_.work.stopping_in(store_);
  guard_options asked{.stop_grace = stop_grace,
                      .notice = told,
                      .terminal = job_control::none,
                      // To programs the transition tells it.
                      .tell_loss = [this](auto const& text, auto const&) { log_->line(text); },
                      .tell_trouble = [this](auto const& text) { log_->warn(text); }};
  guard guarded(io_, term.held(), std::move(asked), command_, on_end);
  guard_ = &guarded;
  auto waiting = ended.async_wait(asio::as_tuple(asio::use_awaitable));
  co_await std::move(waiting);
  guard_ = nullptr;
}

void session::on_signal(int number) {
  if (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT) {
    if (std::exchange(interrupted_, true) && guard_) guard_->end();
    return election_.resign();
  }
  if (guard_) return guard_->forward(number);
  if (number == SIGTSTP) ::raise(SIGSTOP);
}

int session::go() {
  std::optional<failure> outcome;
  auto done = [&](failure why) {
    outcome.emplace(std::move(why));
    io_.stop();
  };
  election_.async_campaign(asio::bind_executor(io_.get_executor(), done));
  run_until(io_, [&] { return outcome.has_value(); });
  warnings_.tell(store_);
  if (fatal_) std::rethrow_exception(fatal_);
  if (*outcome) raise(*outcome);
  return interrupted_ ? 0 : last_status_;
}

int elect_or_draw(elect_arguments const& given) {
  if (given.diagram.empty()) {
    auto const asked = checked(given);
    prepare_standard_streams();
    let_go_of_the_terminal();
    return session(asked).go();
  }
  auto const format = choice_argument<diagram_format>(
      "--diagram", given.diagram,
      {{"mermaid", diagram_format::mermaid}, {"graphviz", diagram_format::graphviz}});
  fmt::print("{}", election_diagram(format));
  return 0;
}

}  // namespace

runnable add_elect_command(CLI::App& app, std::vector<std::string> command) {
  auto const given = std::make_shared<elect_arguments>();
  given->work.command = std::move(command);
  CLI::App& elect_app = add_command(
      app, "elect", "Run a command on one machine of many; another takes over when it stops",
      "NAME [OPTIONS] -- CMD [ARGS…]", elect_footer);
  add_work_options(elect_app, given->work,
                   {.name = "What is led: the same on all machines",
                    .ttl = "A leader that died is replaced after so long",
                    .verbose = "Tell each transition on standard error"});
  add_value(elect_app, "--candidate", given->candidate, "ID",
            "The id under which this candidate leads (default: host:pid:random)");
  add_value(elect_app, "--rest", given->rest, "TIME", "The first rest before standing again");
  elect_app.add_option("--terms", given->terms, "Stand down after so many terms")->type_name("N");
  elect_app.add_flag("--once", given->once, "Stand down when CMD ends by itself");
  add_value(elect_app, "--diagram", given->diagram, "FORMAT",
            "Print the machine that runs here, as mermaid or graphviz");
  return {&elect_app, [given] { return elect_or_draw(*given); }};
}

}  // namespace herdlock::cli
