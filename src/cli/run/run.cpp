#include "run/run.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/executor_work_guard.hpp>

#include "common/duration.hpp"
#include "common/exit_code.hpp"
#include "common/guard.hpp"
#include "common/ignored_signal.hpp"
#include "common/notice.hpp"
#include "common/signal_mask.hpp"
#include "common/stopping.hpp"
#include "common/warnings.hpp"
#include "run/run_log.hpp"

namespace herdlock::cli {
namespace {

constexpr std::array forwarded{SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                               SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

class session {
 public:
  explicit session(run_options const& options);
  int go();

 private:
  void await_signal();
  void on_signal(int number);
  acquire_options terms(milliseconds wait) const;
  acquired acquire();
  acquired attempt(milliseconds wait);
  std::string who_holds();
  int run_under(lease& held);
  int finish(lease held, int status);

  template <class T, class Start>
  result<T> wait_for(Start start);

  run_options const& options_;
  prepared_command command_;
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  asio::signal_set signals_{io_};
  asio::cancellation_signal cancel_;
  int interrupted_by_ = 0;
  guard* guard_ = nullptr;
  lock lock_;
  warnings_teller warnings_;
  run_log log_;
};

session::session(run_options const& options)
    : options_(options),
      command_(options.command),
      lock_(value_or_raise(try_open_store(options.store_url)), options.name),
      log_(options.name.str(), lock_.where().display_name(), options.log) {
  // nohup and `&` of a script ignore signals on purpose.
  for (int const number : forwarded) {
    // But who has stopped the group must hear of SIGCONT, or it would stay stopped.
    if (number == SIGCONT || !ignored(number)) signals_.add(number);
  }
  await_signal();
  open_signals();
}

void session::await_signal() {
  signals_.async_wait([this](boost::system::error_code code, int number) {
    if (code) return;
    await_signal();
    on_signal(number);
  });
}

void session::on_signal(int number) {
  if (guard_) return guard_->forward(number);
  switch (number) {
    case SIGCONT:
      return;
    case SIGTSTP:
      ::raise(SIGSTOP);
      return;
    default:
      interrupted_by_ = number;
      cancel_.emit(asio::cancellation_type::terminal);
  }
}

// Runs the loop until one operation is done; signals are handled meanwhile.
template <class T, class Start>
result<T> session::wait_for(Start start) {
  std::optional<result<T>> outcome;
  auto done = [&](failure why, T value) {
    if (why) {
      outcome.emplace(std::move(why));
    } else {
      outcome.emplace(std::move(value));
    }
    io_.stop();
  };
  start(
      asio::bind_cancellation_slot(cancel_.slot(), asio::bind_executor(io_.get_executor(), done)));
  while (!outcome) {
    io_.restart();
    io_.run();
  }
  return std::move(*outcome);
}

acquire_options session::terms(milliseconds wait) const {
  acquire_options terms;
  terms.ttl = options_.ttl;
  terms.wait = wait;
  terms.loss_margin = stopping_times_in(lock_.where(), options_.grace, options_.ttl).notice;
  terms.max_hold = options_.max_hold;
  return terms;
}

acquired session::attempt(milliseconds wait) {
  acquire_options const asked = terms(wait);
  return value_or_raise(
      wait_for<acquired>([&](auto done) { lock_.async_acquire(asked, std::move(done)); }));
}

// `held by db-1/4711 for at most 28 s more`, or less when nothing is known.
std::string session::who_holds() {
  auto const info =
      wait_for<std::optional<lease_info>>([&](auto done) { lock_.async_inspect(std::move(done)); });
  if (!info || !*info) return "held by another until a moment ago";
  // A client of another kind may hold it without an end.
  if ((*info)->remaining <= milliseconds{0}) return fmt::format("held by {}", (*info)->holder);
  return fmt::format("held by {} for at most {} more unless renewed", (*info)->holder,
                     say((*info)->remaining));
}

// A signal cancels only the operation under way, and that may be the question who holds it. So each
// step looks whether there is to be a next one.
acquired session::acquire() {
  acquired held = attempt(milliseconds{0});
  if (held || options_.wait == milliseconds{0} || interrupted_by_) return held;
  if (::isatty(STDERR_FILENO)) {
    notice(fmt::format("{}: waiting, {}", options_.name.str(), who_holds()));
  }
  if (interrupted_by_) return held;
  return attempt(options_.wait);
}

int session::run_under(lease& held) {
  std::optional<int> status;
  auto const on_end = [&](int ended) {
    status = ended;
    io_.stop();
  };
  auto const [grace, told] = stopping_times_in(lock_.where(), options_.grace, options_.ttl);
  guard_terms asked{
      .name = options_.name.str(), .grace = grace, .notice = told, .on_loss = options_.on_loss};
  // `herdlock run … &` in a script: it is in the script's own group, whose terminal it must not
  // take.
  if (ignored(SIGINT) && ::isatty(STDIN_FILENO) == 0) asked.terminal = job_control::none;
  asked.tell_loss = [this](auto const& line, auto const& why) { log_.lost(line, why); };
  asked.tell_trouble = [this](auto const& text) { log_.warns(text); };
  guard guarded(io_, held, std::move(asked), command_, on_end);
  guard_ = &guarded;
  while (!status) {
    io_.restart();
    io_.run();
  }
  guard_ = nullptr;
  log_.ended(*status);
  return *status;
}

int session::finish(lease held, int status) {
  result<release_reply> const reply =
      wait_for<release_reply>([&](auto done) { held.async_release(std::move(done)); });
  bool const ours_no_more = reply && *reply == release_reply::lost;
  log_.released(!reply         ? reply.error()
                : ours_no_more ? make_failure(errc::lost, "it was another's by then")
                               : failure{});
  if (!reply) {
    notice(fmt::format("{}: not given back, it ends by its ttl: {}", options_.name.str(),
                       reply.error().message));
  }
  warnings_.tell(lock_.where());
  if (!reply) return status;
  if (ours_no_more && options_.on_loss != loss_policy::ignore) {
    throw command_error(exit_code::lost, fmt::format("{}: the lease was lost before {} ended ({})",
                                                     options_.name.str(), options_.command.front(),
                                                     lock_.where().display_name()));
  }
  return status;
}

int session::go() {
  bool const quiet = options_.if_busy == busy_policy::quiet;
  if (options_.store_named == store_choice::by_default && !quiet) log_.warns(about_default_store);
  log_.asks();
  acquired held;
  try {
    held = acquire();
  } catch (command_error const& e) {
    if (!interrupted_by_) {
      log_.gives_up(make_failure(errc::unavailable, e.what()));
      throw;
    }
  }
  if (interrupted_by_) {  // a lease that came after all is given back
    log_.gives_up(make_failure(errc::canceled, fmt::format("signal {}", interrupted_by_)));
    return 128 + interrupted_by_;
  }
  log_.notes(lock_.where());
  if (held || !quiet) warnings_.tell(lock_.where());
  if (!held) {
    std::string const holder = who_holds();
    if (interrupted_by_) return 128 + interrupted_by_;
    auto const line =
        fmt::format("{}: busy, {} ({}); --wait 30s waits for it", in_quotes(options_.name.str()),
                    holder, lock_.where().display_name());
    log_.gives_up(make_failure(errc::unavailable, line));
    if (quiet) return 0;
    throw command_error(exit_code::busy, line);
  }
  log_.holds(held->fencing());
  command_.set_environment({{"HERDLOCK_RESOURCE", options_.name.str()},
                            {"HERDLOCK_FENCING_TOKEN", std::to_string(held->fencing().value)}});
  int const status = run_under(*held);
  if (!held->valid() && (status == static_cast<int>(exit_code::lost) || log_.lost_it()))
    return status;
  return finish(std::move(*held), status);
}

}  // namespace

int run(run_options const& options) {
  prepare_standard_streams();
  return session(options).go();
}

}  // namespace herdlock::cli
