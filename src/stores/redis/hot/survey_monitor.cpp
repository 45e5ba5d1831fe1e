#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "stores/redis/client/one_shot_client.hpp"
#include "stores/redis/hot/monitor_connection.hpp"
#include "stores/redis/hot/monitor_count.hpp"
#include "stores/redis/hot/monitor_lag.hpp"
#include "stores/redis/hot/survey_parts.hpp"
#include "stores/redis/hot/surveys.hpp"

namespace herdlock::redis {
namespace {

constexpr std::int64_t busy_from = 10'000;  // commands a second
constexpr milliseconds progress_pause{100};
constexpr std::chrono::seconds one_second{1};

failure refused_as_busy(settings const& how, std::int64_t commands) {
  return how.failed(errc::overloaded,
                    "the server at " + how.address() + " executes " + std::to_string(commands) +
                        " commands a second, and MONITOR can halve what it can do; ask the "
                        "clients, or begin all the same with --yes "
                        "(survey_request::even_if_busy)");
}

// What has to be known before one listens: that the server can bear it, and what is a key.
result<command_keys> prepare_for_monitor(settings const& how, survey_request const& request,
                                         std::vector<std::string>& notes) {
  auto const answers = ask_once(how, {{"INFO", "stats"}, {"COMMAND"}});
  if (!answers) return answers.error();
  reply const& info = answers->at(0);
  reply const& commands = answers->at(1);
  if (info.is_error()) {
    notes.push_back("nobody knows how busy " + how.address() + " was: INFO is refused (" +
                    in_quotes(info.text()) + ")");
  }
  auto const busy = info.is_error() ? std::nullopt : commands_a_second(info);
  if (busy && *busy >= busy_from && !request.even_if_busy) return refused_as_busy(how, *busy);
  if (commands.is_error()) {
    return refused(how, commands.text(),
                   {.name = "COMMAND",
                    .serves = "says which words are keys",
                    .right = "+command",
                    .instead = "ask another source: clients, lfu"});
  }
  auto keys = command_keys::read(commands);
  if (!keys || keys->size() == 0) {
    return how.failed(errc::not_supported,
                      "the server at " + how.address() +
                          " does not say which words of a command are keys; monitor needs Redis "
                          "7.0 or newer, or Valkey; ask the clients, or lfu");
  }
  return *std::move(keys);
}

std::uint64_t random_seed() {
  std::random_device random;
  return std::uint64_t(random()) << 32 | random();
}

class monitor_reading {
 public:
  monitor_reading(surveyed_servers const& servers, survey_request const& request)
      : servers_(servers),
        request_(request),
        count_({servers.masters.front().database, request.prefix, random_seed()}) {}
  ~monitor_reading() {
    close();
    // What they have under way ends with the next turns.
    io_.restart();
    io_.run_for(milliseconds{200});
  }
  monitor_reading(monitor_reading const&) = delete;
  monitor_reading& operator=(monitor_reading const&) = delete;

  failure prepare() {
    for (auto const& server : servers_.masters) {
      auto keys = prepare_for_monitor(server, request_, made_.notes);
      if (!keys) return keys.error();
      auto one = std::make_unique<listener>(*this, *std::move(keys));
      one->line = std::make_shared<monitor_connection>(io_.get_executor(), server, *one);
      listeners_.push_back(std::move(one));
    }
    return {};
  }

  result<survey> listen() {
    for (auto& one : listeners_) one->line->start();
    while (!done()) {
      io_.restart();
      io_.run_for(left());
      auto const now = clock::now();
      if (now - second_begun_ >= one_second) begin_second(now);
      auto const done = now - begun_.value_or(now);
      tell_progress(request_, std::chrono::duration<double>(done) / request_.lasts);
    }
    if (!stopped_) stopped_ = clock::now();
    close();
    if (failed_) return *failed_;
    look_for_silence();
    return finished();
  }

 private:
  struct listener final : monitor_listener {
    listener(monitor_reading& of, command_keys known) : reading(of), keys(std::move(known)) {}

    void on_monitoring() override { reading.on_monitoring(); }
    void on_line(std::string_view text, line_part is) override { reading.on_line(*this, text, is); }
    void on_failed(failure why) override {
      reading.failed_ = std::move(why);
      reading.io_.stop();
    }

    monitor_reading& reading;
    command_keys keys;
    std::shared_ptr<monitor_connection> line;
    monitor_lag lag;
  };

  void on_monitoring() {
    if (++monitoring_ < listeners_.size()) return;
    auto const now = clock::now();
    begun_ = now;
    begin_second(now);
    io_.stop();  // from now on it is limited
  }

  void on_line(listener& from, std::string_view text, line_part is) {
    if (!begun_) return;  // the others do not listen yet
    count_.add(text, is, from.keys);
    if (++in_this_second_ > request_.most_a_second) look_at_rate();
    look_at_lag(from.lag, text);
  }

  void look_at_rate() {
    auto const now = clock::now();
    if (now - second_begun_ >= one_second) return begin_second(now);
    give_up("more than " + std::to_string(request_.most_a_second) +
            " commands a second came (survey_request::most_a_second, --max-rate)");
  }

  void look_at_lag(monitor_lag& lag, std::string_view text) {
    auto const executed = execution_time(text);
    if (!executed) return;
    auto const now =
        std::chrono::duration_cast<std::chrono::microseconds>(clock::now().time_since_epoch());
    if (lag.is_too_great(*executed, now)) give_up("commands came faster than they could be read");
  }

  void give_up(std::string const& why) {
    if (stopped_) return;
    stopped_ = clock::now();
    made_.notes.push_back("stopped after " + in_seconds(*stopped_ - begun_.value_or(*stopped_)) +
                          ": " + why + "; this is what was found until then");
    close();
    io_.stop();
  }

  void begin_second(clock::time_point now) {
    second_begun_ = now;
    in_this_second_ = 0;
  }

  bool done() const {
    return failed_ || stopped_ || (begun_ && clock::now() >= *begun_ + request_.lasts);
  }
  clock::duration left() const {
    if (!begun_) return progress_pause;
    return std::clamp<clock::duration>(*begun_ + request_.lasts - clock::now(),
                                       clock::duration::zero(), progress_pause);
  }

  void close() {
    for (auto& one : listeners_) one->line->stop();
  }

  // A server that has stopped sends no lines, as one that nobody uses.
  void look_for_silence() {
    for (auto const& server : servers_.masters) {
      auto const answers = ask_once(server, {{"PING"}});
      if (answers) continue;
      made_.notes.push_back(server.address() + " did not answer at the end (" +
                            answers.error().message + "): what it has executed may be missing");
    }
  }

  survey finished() {
    auto const took =
        std::max<clock::duration>(*stopped_ - begun_.value_or(*stopped_), milliseconds{1});
    std::uint64_t bytes = 0;
    for (auto const& one : listeners_) bytes += one->line->bytes();
    made_.keys = count_.top(request_.top, took);
    made_.cost = "MONITOR for " + in_seconds(took) + ": " + counted(count_.lines(), "line") + ", " +
                 counted(bytes, "byte") + "; one MONITOR reader can halve the server's throughput";
    if (count_.cut() > 0) {
      made_.notes.push_back("of " + counted(count_.cut(), "long command") +
                            " only the first 4 KB or 256 words were read: keys behind them are "
                            "not counted");
    }
    if (request_.top > monitor_count::most_keys) {
      made_.notes.push_back("monitor counts " + std::to_string(monitor_count::most_keys) +
                            " keys at most");
    }
    if (count_.unread() > 0) {
      made_.notes.push_back(counted(count_.unread(), "line") + " could not be read");
    }
    return std::move(made_);
  }

  surveyed_servers const& servers_;
  survey_request const& request_;
  asio::io_context io_{1};
  monitor_count count_;
  survey made_;
  std::vector<std::unique_ptr<listener>> listeners_;
  std::size_t monitoring_ = 0;              // of them, those that listen
  std::optional<clock::time_point> begun_;  // since all listen
  std::optional<clock::time_point> stopped_;
  std::optional<failure> failed_;
  clock::time_point second_begun_{};
  std::uint64_t in_this_second_ = 0;  // lines
};

}  // namespace

result<survey> survey_monitor(surveyed_servers const& servers, survey_request const& request) {
  monitor_reading reading(servers, request);
  if (auto why = reading.prepare(); why.code) return why;
  return reading.listen();
}

}  // namespace herdlock::redis
