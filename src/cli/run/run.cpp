#include "run/run.hpp"

#include <unistd.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <herdlock/lock.hpp>

#include "common/arguments.hpp"
#include "common/signal_watch.hpp"
#include "run/run_log.hpp"
#include "terminal/duration.hpp"
#include "terminal/notice.hpp"
#include "terminal/warnings.hpp"

namespace herdlock::cli {
namespace {

trouble kind_of(failure const& why) {
  bool const passes = why == errc::unavailable || why == errc::timed_out;
  return passes ? trouble::passing : trouble::lasting;
}

// Whoever has the label of this process is a try of its own; so may be one that is gone by now.
found what_is(std::optional<lease_info> const& seen) {
  if (!seen) return found::held_by_us;
  if (seen->done) return found::done;
  return seen->holder == owner_token::generate().label() ? found::held_by_us : found::held;
}

// `by db-1/4711 12 min ago`.
std::string done_by(lease_info const& seen) {
  return fmt::format("by {} {} ago", seen.holder, say(*seen.done));
}

class session {
 public:
  explicit session(run_options const& options);
  int go();

 private:
  void on_signal(int number);
  acquired acquire();
  result<acquired> attempt(milliseconds wait);
  void rest(clock::time_point until, std::stop_token const& ended = {});
  std::optional<lease_info> look();
  std::string who_holds();
  int run_under(lease& held);
  int finish(lease held, int status);

  template <class T, class Start>
  result<T> wait_for(Start start);

  /// For people, `NAME: TEXT`.
  void tell(std::string const& text) const { notice(name_ + ": " + text); }

  run_options const& options_;
  std::string const& name_ = options_.work.name.str();
  prepared_command command_;
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  signal_watch signals_{io_, work_signals, [this](int number) { on_signal(number); }};
  asio::cancellation_signal cancel_;
  clock::time_point granted_{};
  int interrupted_by_ = 0;
  guard* guard_ = nullptr;
  lock lock_;
  run_plan plan_;
  std::optional<std::string> done_by_;  // another has done the work
  warnings_teller warnings_;
  run_log log_;
};

session::session(run_options const& options)
    : options_(options),
      command_(options.work.command),
      lock_(value_or_raise(try_open_store(options.work.where.url)), options.work.name),
      plan_(options.times,
            lock_.where().traits().leaves_leases ? after_work::left : after_work::kept,
            clock::now()),
      log_({name_, std::string(owner_token::generate().label()), lock_.where().display_name(),
            options.work.log}) {
  open_signals();
}

void session::on_signal(int number) {
  if (guard_) return guard_->forward(number);
  if (number == SIGTSTP) ::raise(SIGSTOP);
  if (number == SIGTSTP || number == SIGCONT) return;
  interrupted_by_ = number;
  cancel_.emit(asio::cancellation_type::terminal);
  io_.stop();  // a rest is over, too
}

// Runs the loop until one operation is done; signals are handled meanwhile.
template <class T, class Start>
result<T> session::wait_for(Start start) {
  std::optional<result<T>> outcome;
  auto done = [&](failure why, T value) {
    outcome = why ? result<T>(std::move(why)) : result<T>(std::move(value));
    io_.stop();
  };
  start(
      asio::bind_cancellation_slot(cancel_.slot(), asio::bind_executor(io_.get_executor(), done)));
  run_until(io_, [&] { return outcome.has_value(); });
  return std::move(*outcome);
}

result<acquired> session::attempt(milliseconds wait) {
  acquire_options const asked{.ttl = options_.work.ttl,
                              .wait = wait,
                              .loss_margin = options_.work.stopping_in(lock_.where()).notice,
                              .max_hold = options_.max_hold};
  return wait_for<acquired>([&](auto done) { lock_.async_acquire(asked, std::move(done)); });
}

// Until then, or until a signal has come or `ended` is told.
void session::rest(clock::time_point until, std::stop_token const& ended) {
  bool over = false;
  boot_alarm alarm(io_.get_executor());
  alarm.set(until, [&] {
    over = true;
    io_.stop();
  });
  std::stop_callback const told(ended, [this] { asio::post(io_, [this] { io_.stop(); }); });
  run_until(io_, [&] { return over || interrupted_by_ || ended.stop_requested(); });
}

std::optional<lease_info> session::look() {
  auto info =
      wait_for<std::optional<lease_info>>([&](auto done) { lock_.async_inspect(std::move(done)); });
  return info ? std::move(*info) : std::nullopt;
}

// `held by db-1/4711 for at most 28 s more`, or less when nothing is known.
std::string session::who_holds() {
  auto const seen = look();
  if (!seen) return "held by another until a moment ago";
  if (seen->done) return "done " + done_by(*seen);
  // A client of another kind may hold it without an end.
  if (seen->remaining <= milliseconds{0}) return fmt::format("held by {}", seen->holder);
  return fmt::format("held by {} for at most {} more unless renewed", seen->holder,
                     say(seen->remaining));
}

// A signal cancels only the operation under way, and that may be the question who holds it. So each
// step looks whether there is to be a next one.
acquired session::acquire() {
  milliseconds wait{0};
  bool told = false;
  while (true) {
    auto got = attempt(wait);
    if (got && (*got || interrupted_by_)) return std::move(*got);
    auto const seen = got && plan_.wants_a_look(clock::now()) ? look() : std::nullopt;
    auto const next = got ? plan_.busy(clock::now(), what_is(seen))
                          : plan_.failed(clock::now(), kind_of(got.error()));
    if (!got && (interrupted_by_ || next.what == run_step::kind::give_up)) raise(got.error());
    if (next.what == run_step::kind::done) done_by_ = done_by(*seen);
    if (next.what == run_step::kind::give_up || done_by_) return {};
    if (!got) log_.tries_on(got.error());
    if (next.what == run_step::kind::rest) {
      rest(next.until);
    } else if (!std::exchange(told, true) && ::isatty(STDERR_FILENO)) {
      tell("waiting, " + who_holds());
    }
    if (interrupted_by_) return {};
    wait = plan_.wait_left(clock::now());
  }
}

int session::run_under(lease& held) {
  std::optional<int> status;
  auto const on_end = [&](int ended) {
    status = ended;
    io_.stop();
  };
  auto const [stop_grace, told] = options_.work.stopping_in(lock_.where());
  // `herdlock run … &` in a script: it is in the script's own group, whose terminal it must not
  // take.
  bool const in_script = ignored(SIGINT) && ::isatty(STDIN_FILENO) == 0;
  guard_options asked{
      .stop_grace = stop_grace,
      .notice = told,
      .on_loss = options_.on_loss,
      .terminal = in_script ? job_control::none : job_control::given,
      .tell_loss = [this](auto const& text, auto const& why) { log_.lost(text, why); },
      .tell_trouble = [this](auto const& text) { log_.warn(text); }};
  guard guarded(io_, held, std::move(asked), command_, on_end);
  guard_ = &guarded;
  run_until(io_, [&] { return status.has_value(); });
  guard_ = nullptr;
  log_.ended(*status);
  return *status;
}

int session::finish(lease held, int status) {
  auto const now = clock::now();
  auto const next = plan_.ended(now, granted_, status);
  bool const in_time = held.valid();
  bool const keeps = in_time && next.what == run_step::kind::keep;
  bool const leaves = in_time && next.what == run_step::kind::leave;
  if (keeps) {
    auto const more = std::chrono::ceil<milliseconds>(next.until - now);
    log_.say(fmt::format("keeps the lease for {} more", say(more)));
    rest(next.until, held.lost_token());
  }
  signals_.close();  // nothing ends the wait for what is given back but the store's timeout
  result<release_reply> const reply = wait_for<release_reply>([&](auto done) {
    if (leaves) return held.async_leave(next.time, next.how, std::move(done));
    held.async_release(std::move(done));
  });
  std::string const how =
      !leaves ? "given back"
              : fmt::format("left{} for {} from its grant on",
                            next.how == left_as::done ? " as done" : "", say(next.time));
  bool const ours_no_more = reply && *reply == release_reply::lost;
  log_.released(!reply         ? reply.error()
                : ours_no_more ? make_failure(errc::lost, "it was another's by then")
                               : failure{},
                how);
  if (!reply) tell(fmt::format("not {}, it ends by its ttl: {}", how, reply.error().message));
  warnings_.tell(lock_.where());
  if (ours_no_more && keeps) {
    tell(fmt::format("the lease was lost before its --min-hold was over ({})",
                     lock_.where().display_name()));
  } else if (ours_no_more && options_.on_loss != loss_policy::ignore) {
    throw command_error(exit_code::lost,
                        fmt::format("{}: the lease was lost before {} ended ({})", name_,
                                    command_.name(), lock_.where().display_name()));
  }
  return status;
}

int session::go() {
  if (options_.times.once_per > milliseconds{0} && !lock_.where().traits().leaves_leases) {
    refuse(
        "--once-per: a lease in {} cannot be left behind as done; name another store, or take "
        "--min-hold",
        lock_.where().display_name());
  }
  bool const quiet = options_.if_busy == busy_policy::quiet;
  if (options_.work.where.by_default) log_.warn(about_default_store());
  log_.asks();
  acquired held;
  try {
    held = acquire();
  } catch (command_error const& e) {
    if (!interrupted_by_) {
      log_.gives_up(errc::unavailable, e.what());
      throw;
    }
  }
  if (interrupted_by_) {  // a lease that came after all is given back
    log_.gives_up(errc::canceled, fmt::format("signal {}", interrupted_by_));
    return 128 + interrupted_by_;
  }
  log_.notes(lock_.where());
  if (held || !quiet) warnings_.tell(lock_.where());
  if (done_by_) {
    std::string const line = "done already " + *done_by_;
    log_.say(line);
    log_.gives_up(errc::unavailable, line);
    return 0;
  }
  if (!held) {
    std::string const holder = who_holds();
    if (interrupted_by_) return 128 + interrupted_by_;
    auto const line = fmt::format("{}: busy, {} ({}); --wait 30s waits for it", in_quotes(name_),
                                  holder, lock_.where().display_name());
    log_.gives_up(errc::unavailable, line);
    if (quiet) return 0;
    throw command_error(exit_code::busy, line);
  }
  granted_ = clock::now();
  log_.holds(held->fencing());
  command_.set_environment({{"HERDLOCK_RESOURCE", name_},
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
