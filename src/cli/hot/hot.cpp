#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <herdlock/url.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "common/arguments.hpp"
#include "common/chosen_store.hpp"
#include "common/json_text.hpp"
#include "hot/hot_table.hpp"
#include "hot/hot_watch.hpp"
#include "hot/rule_commands.hpp"
#include "terminal/duration.hpp"
#include "terminal/exit_code.hpp"
#include "terminal/notice.hpp"
#include "terminal/progress_line.hpp"
#include "terminal/standard_output.hpp"

namespace herdlock::cli {
namespace {

constexpr std::size_t most_keys = 1'000;
constexpr std::uint64_t most_a_second = 10'000'000;

constexpr char const* hot_footer =
#include "hot/hot_help.txt"
    ;

struct hot_arguments {
  store_arguments store;
  std::string source = "clients";
  std::size_t top = 20;
  std::string prefix;
  std::string lasts = "5s";
  std::string interval = "1s";
  std::uint64_t max_rate = 200'000;
  bool watch = false;
  bool sizes = false;
  bool yes = false;
  bool json = false;
};

void require_up_to(std::uint64_t most, char const* option, std::uint64_t value) {
  if (value >= 1 && value <= most) return;
  throw command_error(exit_code::usage, fmt::format("{} must be from 1 to {}", option, most));
}

hot_question question_of(hot_arguments const& given) {
  require_up_to(most_keys, "--top", given.top);
  require_up_to(most_a_second, "--max-rate", given.max_rate);
  hot_question asked;
  asked.request.source = choice_argument<survey_source>("--source", given.source, survey_sources);
  asked.request.top = given.top;
  asked.request.prefix = given.prefix;
  asked.request.lasts =
      duration_between("--for", given.lasts, milliseconds{10}, std::chrono::minutes{1});
  asked.request.most_a_second = given.max_rate;
  asked.request.even_if_busy = given.yes;
  asked.request.with_sizes = given.sizes;
  asked.url = shared_store_of(given.store).url;
  asked.shown = value_or_raise(store_url::parse(asked.url)).redacted();
  return asked;
}

std::size_t width_of_output() {
  winsize size{};
  bool const known = ::isatty(STDOUT_FILENO) == 1 &&
                     ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : any_width;
}

// A terminal of which a program can write each part.
bool has_a_screen() {
  char const* const kind = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && std::string_view(kind ? kind : "") != "dumb";
}

int tell_all(survey const& seen, survey_source source, output_form form) {
  if (form == output_form::json) {
    print_json(hot_json(seen, source));
  } else {
    auto const lines =
        seen.keys.empty() ? nothing_found(source) : hot_table(seen, width_of_output());
    for (auto const& line : lines) fmt::print("{}\n", line);
  }
  flush_output();
  if (!seen.cost.empty()) notice(seen.cost);
  for (auto const& note : seen.notes) notice(note);
  return 0;
}

// A watch that ends with its first look.
int hot_once(hot_question const& asked, output_form form) {
  hot_watch watch(asked, {});
  progress_line const line;
  watch.go_on();
  int const status = watch.run([&](hot_news news) {
    auto const percent = watch.view().percent;
    if (news == hot_news::under_way && percent) line.show(fmt::format("looking: {} %", *percent));
    if (news == hot_news::continued) watch.go_on();
    if (news == hot_news::looked) watch.end(0);
  });
  line.show({});
  auto const& seen = watch.view().seen;
  return seen ? tell_all(*seen, asked.request.source, form) : status;
}

// What is asked for must not be without effect, and nobody the wiser.
void refuse_without_effect(CLI::App const& typed, hot_arguments const& given) {
  struct effect {
    char const* option;
    std::vector<std::string> sources;
  };
  for (auto const& [option, sources] :
       {effect{"--for", {"monitor", "server"}}, effect{"--max-rate", {"monitor", "lfu"}},
        effect{"--yes", {"monitor"}}}) {
    bool const has_one = std::count(sources.begin(), sources.end(), given.source) > 0;
    if (typed.count(option) == 0 || has_one) continue;
    throw command_error(exit_code::usage,
                        fmt::format("{} has no effect with --source {}, only with {}", option,
                                    given.source, fmt::join(sources, " and ")));
  }
  if (typed.count("--interval") > 0 && !given.watch) {
    throw command_error(exit_code::usage, "--interval has no effect without --watch");
  }
}

int hot(CLI::App const& typed, hot_arguments const& given) {
  auto const asked = question_of(given);
  refuse_without_effect(typed, given);
  auto const interval =
      duration_between("--interval", given.interval, milliseconds{10}, std::chrono::hours{1});
  auto const form = given.json ? output_form::json : output_form::text;
  if (!given.watch) return hot_once(asked, form);
  if (form == output_form::text && has_a_screen()) return watch_on_screen(asked, interval);
  return watch_in_lines(asked, interval, form);
}

// What is typed in front of the name of a command below is not lost without a word.
void refuse_own_options(CLI::App const& hot_app, std::string const& below) {
  for (CLI::Option const* each : hot_app.get_options()) {
    bool const is_typed = each->count() > 0;
    bool const is_shared = each->check_lname("store") || each->check_lname("store-file");
    if (!is_typed || is_shared) continue;
    throw command_error(exit_code::usage,
                        fmt::format("{} stands in front of {}, where only the store may; herdlock "
                                    "hot {} --help tells what there is",
                                    each->get_name(), below, below));
  }
}

}  // namespace

std::vector<runnable> add_hot_commands(CLI::App& app) {
  auto const given = std::make_shared<hot_arguments>();
  CLI::App& made = add_command(app, "hot", "Tell which keys of a store are used most",
                               "[add | remove | list | OPTIONS]", hot_footer);
  add_store_options(made, given->store);
  add_value(made, "--source", given->source, "NAME",
            "Who is asked: clients, monitor, lfu or server");
  add_value(made, "--top", given->top, "COUNT", "So many keys, up to 1000");
  made.add_option("--prefix", given->prefix,
                  "Only keys that begin so; of clients: only caches with this prefix");
  made.add_flag("--watch", given->watch, "Look again and again");
  add_value(made, "--interval", given->interval, "TIME", "From a look to the next, 10ms to 1h");
  add_value(made, "--for", given->lasts, "TIME", "How long monitor and server count, 10ms to 1m");
  add_value(made, "--max-rate", given->max_rate, "COUNT",
            "A second: commands at which monitor gives up, keys that lfu asks for");
  made.add_flag("--sizes", given->sizes, "Ask for the size of each value, too");
  made.add_flag("--yes", given->yes, "Let monitor begin on a busy server");
  made.add_flag("--json", given->json, "For programs");
  std::vector<runnable> all{{&made, [&made, given] { return hot(made, *given); }}};
  for (auto& [command, go] : add_rule_commands(made, given->store)) {
    all.emplace_back(command, [&made, given, command = command, go = std::move(go)] {
      refuse_own_options(made, command->get_name());
      return go();
    });
  }
  return all;
}

}  // namespace herdlock::cli
