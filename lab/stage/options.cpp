#include "stage/options.hpp"

#include "terminal/duration.hpp"
#include "terminal/store_argument.hpp"

namespace herdlock::lab {

void options::time(std::string const& name, milliseconds& into, range<milliseconds> allowed,
                   char const* does) {
  auto const typed = std::make_shared<std::string>(into.count() < 0 ? "" : duration_text(into));
  text(name, *typed, does, "TIME");
  checks_.push_back([name, typed, &into, allowed] {
    if (typed->empty()) return;
    into = cli::duration_between(name.c_str(), *typed, allowed.least, allowed.most);
  });
}

void options::choice(std::string const& name, std::string& into, std::vector<std::string> allowed,
                     char const* does) {
  app_.add_option(name, into, does)->type_name("WHICH")->capture_default_str();
  checks_.push_back([name, &into, allowed = std::move(allowed)] {
    if (std::ranges::count(allowed, into) != 0) return;
    throw cli::command_error(cli::exit_code::usage, fmt::format("{} '{}': is none of {}", name,
                                                                into, fmt::join(allowed, ", ")));
  });
}

void options::text(std::string const& name, std::string& into, char const* does, char const* type) {
  auto* const option = app_.add_option(name, into, does)->type_name(type);
  if (!into.empty()) option->capture_default_str();
}

void options::flag(std::string const& name, bool& into, char const* does) {
  app_.add_flag(name, into, does);
}

void options::store(std::string& url, char const* does) {
  auto const typed = std::make_shared<cli::store_arguments>();
  cli::add_store_options(
      app_, *typed,
      fmt::format("{}\n(or HERDLOCK_STORE, or the file that HERDLOCK_STORE_FILE names)", does));
  checks_.push_back([typed, &url] { url = cli::named_store(*typed); });
}

void options::stores(std::vector<std::string>& urls, char const* does) {
  auto const files = std::make_shared<std::vector<std::string>>();
  app_.add_option("--store", urls, does)->type_name("URL")->expected(1)->take_all();
  app_.add_option("--store-file", *files,
                  fmt::format("{}; again for each further one", cli::about_store_file))
      ->type_name("FILE")
      ->expected(1)
      ->take_all();
  checks_.push_back([files, &urls] {
    for (auto const& file : *files) urls.push_back(cli::url_in_file(file));
  });
}

}  // namespace herdlock::lab
