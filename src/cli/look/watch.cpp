#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <herdlock/election.hpp>
#include <herdlock/printable.hpp>
#include <nlohmann/json.hpp>
#include <random>

#include "common/signal_watch.hpp"
#include "look/look.hpp"
#include "terminal/duration.hpp"
#include "terminal/standard_output.hpp"

namespace herdlock::cli {
namespace {

namespace asio = boost::asio;
using seen_state = result<std::optional<leadership>>;

// ± a quarter, one for each process.
milliseconds jittered(milliseconds interval) {
  std::random_device random;
  std::uniform_real_distribution<double> spread(0.75, 1.25);
  return std::chrono::duration_cast<milliseconds>(interval * spread(random));
}

// Runs until `on_seen` or a timer returns an exit status. It is called on this thread; a store that
// does not answer at the first look is an error, later it is a state like others.
class watcher {
 public:
  using judge = std::function<std::optional<int>(seen_state const&)>;

  watcher(watch_options const& options, judge on_seen)
      : options_(options), on_seen_(std::move(on_seen)) {}

  int go(store const& where, resource const& name) {
    if (options_.timeout) {
      deadline_.expires_after(*options_.timeout);
      deadline_.async_wait([this](boost::system::error_code code) {
        if (!code) end(static_cast<int>(exit_code::busy));
      });
    }
    auto const told = [this](seen_state const& seen) {
      asio::post(io_, [this, seen] { take(seen); });
    };
    auto const looking = observe(where, name, told, {.look = jittered(options_.interval)});
    auto const work = asio::make_work_guard(io_);
    io_.run();
    return *status_;
  }

 private:
  void take(seen_state const& seen) {
    if (status_) return;
    if (!std::exchange(looked_, true) && !seen) raise(seen.error());
    if (auto const status = on_seen_(seen)) end(*status);
  }
  void end(int status) {
    if (!status_) status_ = status;
    io_.stop();
  }

  watch_options const& options_;
  judge const on_seen_;
  asio::io_context io_;
  signal_watch signals_{io_, {SIGINT, SIGTERM, SIGHUP}, [this](int number) { end(128 + number); }};
  asio::steady_timer deadline_{io_};
  std::optional<int> status_;
  bool looked_ = false;
};

std::string line_of(resource const& name, seen_state const& seen, milliseconds elapsed) {
  auto const begin = fmt::format("{} {}: ", say(elapsed), in_quotes(name.str()));
  if (!seen) return fmt::format("{}unknown: {}", begin, printable(seen.error().message));
  if (!*seen) return begin + "free";
  auto const& held = **seen;
  std::string text = fmt::format("{}held by {}", begin, printable(held.leader));
  if (held.term.value != 0) text += fmt::format(", fencing token {}", held.term.value);
  if (held.waiting != 0) text += fmt::format(", {} waiting", held.waiting);
  return text;
}

std::string json_of(resource const& name, seen_state const& seen, milliseconds elapsed) {
  nlohmann::ordered_json line{{"resource", name.str()}};
  line["state"] = !seen ? "unknown" : *seen ? "held" : "free";
  if (!seen) {
    line["why"] = seen.error().message;
  } else if (*seen) {
    line["holder"] = (*seen)->leader;
    line["fencing"] = (*seen)->term.value;
    if ((*seen)->remaining > milliseconds{0}) line["remaining_ms"] = (*seen)->remaining.count();
    line["waiting"] = (*seen)->waiting;
  }
  line["elapsed_ms"] = elapsed.count();
  return json_text(line, json_form::line);
}

}  // namespace

int watch(store const& where, resource const& name, watch_options const& options) {
  auto const began = clock::now();
  auto const tell = [&](seen_state const& seen) -> std::optional<int> {
    auto const elapsed = std::chrono::duration_cast<milliseconds>(clock::now() - began);
    auto const line = options.form == output_form::json ? json_of(name, seen, elapsed)
                                                        : line_of(name, seen, elapsed);
    std::puts(line.c_str());
    flush_output();
    return std::nullopt;
  };
  return watcher(options, tell).go(where, name);
}

int wait_until_free(store const& where, resource const& name, watch_options const& options) {
  std::string holder;
  auto const judge = [&](seen_state const& seen) -> std::optional<int> {
    if (seen && !*seen) return 0;
    if (seen) holder = (*seen)->leader;
    return std::nullopt;
  };
  int const status = watcher(options, judge).go(where, name);
  if (options.form == output_form::json) {
    nlohmann::ordered_json told{{"resource", name.str()}, {"free", status == 0}};
    if (status != 0) told["holder"] = holder;
    fmt::print("{}\n", json_text(told, json_form::line));
  }
  if (status == static_cast<int>(exit_code::busy)) {
    throw command_error(exit_code::busy,
                        fmt::format("{}: still held by {}", in_quotes(name.str()), holder));
  }
  return status;
}

}  // namespace herdlock::cli
