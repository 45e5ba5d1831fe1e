#include <sys/ioctl.h>

#include <cstdlib>

#include "commands.hpp"
#include "common/arguments.hpp"
#include "hot/hot_watch.hpp"
#include "hot/rule_commands.hpp"
#include "terminal/duration.hpp"
#include "terminal/notice.hpp"
#include "terminal/progress_line.hpp"
#include "terminal/standard_output.hpp"

namespace herdlock::cli {
namespace {

struct hot_arguments {
  store_arguments store;
  survey_request request;  // but for what is checked as a text
  std::string source = "clients";
  std::string lasts = "5s";
  std::string interval = "1s";
  bool watch = false;
  bool json = false;
};

void require_up_to(std::uint64_t most, char const* option, std::uint64_t value) {
  if (value < 1 || value > most) refuse("{} must be from 1 to {}", option, most);
}

hot_question question_of(hot_arguments const& given) {
  require_up_to(1'000, "--top", given.request.top);
  require_up_to(10'000'000, "--max-rate", given.request.most_a_second);
  hot_question asked{.url = {}, .request = given.request};
  asked.request.source = choice_argument<survey_source>("--source", given.source, survey_sources);
  asked.request.lasts =
      duration_between("--for", given.lasts, milliseconds{10}, std::chrono::minutes{1});
  asked.url = shared_store_of(given.store).url;
  return asked;
}

std::size_t width_of_output() {
  winsize size{};  // stays so where there is no terminal
  ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  return size.ws_col > 0 ? size.ws_col : any_width;
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
  std::pair<char const*, std::vector<std::string>> const all[]{
      {"--for", {"monitor", "server"}}, {"--max-rate", {"monitor", "lfu"}}, {"--yes", {"monitor"}}};
  for (auto const& [option, sources] : all) {
    bool const has_one = std::count(sources.begin(), sources.end(), given.source) > 0;
    if (typed.count(option) == 0 || has_one) continue;
    refuse("{} has no effect with --source {}, only with {}", option, given.source,
           fmt::join(sources, " and "));
  }
  if (typed.count("--interval") > 0 && !given.watch) {
    refuse("--interval has no effect without --watch");
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
    refuse(
        "{} stands in front of {}, where only the store may; herdlock hot {} --help tells what "
        "there is",
        each->get_name(), below, below);
  }
}

}  // namespace

std::vector<runnable> add_hot_commands(CLI::App& app) {
  auto const given = std::make_shared<hot_arguments>();
  CLI::App& made = add_command(
      app, "hot", "Tell which keys of a store are used most", "[add | remove | list | OPTIONS]",
#include "hot/hot_help.txt"
  );
  survey_request& request = given->request;
  add_store_options(made, given->store);
  add_value(made, "--source", given->source, "NAME",
            "Who is asked: clients, monitor, lfu or server");
  add_value(made, "--top", request.top, "COUNT", "So many keys, up to 1000");
  made.add_option("--prefix", request.prefix,
                  "Only keys that begin so; of clients: only caches with this prefix");
  made.add_flag("--watch", given->watch, "Look again and again");
  add_value(made, "--interval", given->interval, "TIME", "From a look to the next, 10ms to 1h");
  add_value(made, "--for", given->lasts, "TIME", "How long monitor and server count, 10ms to 1m");
  add_value(made, "--max-rate", request.most_a_second, "COUNT",
            "A second: commands at which monitor gives up, keys that lfu asks for");
  made.add_flag("--sizes", request.with_sizes, "Ask for the size of each value, too");
  made.add_flag("--yes", request.even_if_busy, "Let monitor begin on a busy server");
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
