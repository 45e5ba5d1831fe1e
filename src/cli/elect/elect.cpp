#include "elect/elect.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>

#include "terminal/exit_code.hpp"
#include "common/guard.hpp"
#include "common/ignored_signal.hpp"
#include "terminal/notice.hpp"
#include "common/signal_mask.hpp"
#include "common/stopping.hpp"
#include "terminal/warnings.hpp"
#include "elect/elect_log.hpp"

namespace herdlock::cli {
namespace {

constexpr milliseconds longest_rest{5'000};
constexpr std::array ends_us{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::array forwarded{SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

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
  election_options terms();
  asio::awaitable<void> work(election_term& term);
  asio::awaitable<void> run(election_term& term);
  void await_signal();
  void on_signal(int number);

  elect_options const& options_;
  prepared_command command_;
  asio::io_context io_;
  asio::signal_set signals_{io_};
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
      command_(options.command),
      store_(value_or_raise(try_open_store(options.store_url))),
      election_(store_, options.name,
                {[this](election_term& term) { return work(term); },
                 [this](election_term&) -> asio::awaitable<void> {
                   if (guard_) guard_->end();
                   co_return;
                 }},
                terms()) {
  log_.emplace(event_log(options.name.str(), election_.candidate(), store_.display_name()),
               options.log);
  if (options.store_named == store_choice::by_default) log_->warns(about_default_store());
  for (int const number : ends_us) {
    if (!ignored(number)) signals_.add(number);
  }
  for (int const number : forwarded) {
    if (number == SIGCONT || !ignored(number)) signals_.add(number);
  }
  await_signal();
  open_signals();
}

election_options session::terms() {
  election_options asked;
  asked.ttl = options_.ttl;
  asked.grace = stopping_times_in(store_, options_.grace, options_.ttl).grace;
  asked.back_off_first = options_.rest;
  asked.back_off_most = std::max(longest_rest, options_.rest);
  asked.candidate = options_.candidate;
  asked.executor = io_.get_executor();
  asked.on_transition = [this](election_transition const& what) { log_->tell(what); };
  return asked;
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
  command_.set_environment({{"HERDLOCK_RESOURCE", options_.name.str()},
                            {"HERDLOCK_TERM", number},
                            {"HERDLOCK_FENCING_TOKEN", number},
                            {"HERDLOCK_CANDIDATE", term.candidate()}});
  asio::steady_timer ended(io_, asio::steady_timer::time_point::max());
  auto const on_end = [&](int status) {
    last_status_ = status;
    ended.cancel();
  };
  auto const [grace, told] = stopping_times_in(store_, options_.grace, options_.ttl);
  guard_terms asked{
      .name = options_.name.str(), .grace = grace, .notice = told, .terminal = job_control::none};
  // The transition tells it.
  if (options_.log == event_form::json) asked.tell_loss = [](auto const&, auto const&) {};
  asked.tell_trouble = [this](auto const& text) { log_->warns(text); };
  guard guarded(io_, term.held(), std::move(asked), command_, on_end);
  guard_ = &guarded;
  auto waiting = ended.async_wait(asio::as_tuple(asio::use_awaitable));
  co_await std::move(waiting);
  guard_ = nullptr;
}

void session::await_signal() {
  signals_.async_wait([this](boost::system::error_code code, int number) {
    if (code) return;
    await_signal();
    on_signal(number);
  });
}

void session::on_signal(int number) {
  bool const ends = std::find(ends_us.begin(), ends_us.end(), number) != ends_us.end();
  if (ends) {
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
  while (!outcome) {
    io_.restart();
    io_.run();
  }
  warnings_.tell(store_);
  if (fatal_) std::rethrow_exception(fatal_);
  if (*outcome) raise(*outcome);
  return interrupted_ ? 0 : last_status_;
}

}  // namespace

int elect(elect_options const& options) {
  prepare_standard_streams();
  let_go_of_the_terminal();
  return session(options).go();
}

int print_diagram(diagram_format format) {
  fmt::print("{}", election_diagram(format));
  return 0;
}

}  // namespace herdlock::cli
