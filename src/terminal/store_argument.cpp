#include "terminal/store_argument.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <herdlock/url.hpp>

#include "terminal/exit_code.hpp"
#include "terminal/state_folder.hpp"
#include "terminal/store_choice.hpp"
#include "terminal/unique_fd.hpp"

namespace herdlock::cli {
namespace {

constexpr std::size_t max_url_bytes = 4096;

[[noreturn]] void refuse(exit_code code, std::string const& file, std::string const& why) {
  throw command_error(code, fmt::format("the store's file {}: {}", in_quotes(file), why));
}

std::string first_line(int from, std::string const& file) {
  std::array<char, max_url_bytes + 1> text;
  std::size_t size = 0;
  while (size < text.size()) {
    ssize_t const got = ::read(from, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(exit_code::unavailable, file, std::strerror(errno));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  std::string line(text.data(), size);
  line.resize(std::min(line.find('\n'), line.size()));
  if (line.size() > max_url_bytes) {
    refuse(exit_code::usage, file, fmt::format("its first line is over {} bytes", max_url_bytes));
  }
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  if (line.empty()) refuse(exit_code::usage, file, "its first line is to be a store URL");
  return line;
}

std::string read_url(std::string const& file) {
  unique_fd const from(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (from.get() < 0) refuse(exit_code::unavailable, file, std::strerror(errno));
  std::string url = first_line(from.get(), file);
  struct stat about {};
  bool const kept = ::fstat(from.get(), &about) == 0 && S_ISREG(about.st_mode);
  if (!kept || (about.st_mode & S_IROTH) == 0) return url;
  auto const parsed = store_url::parse(url);
  if (parsed && parsed->redacted() == url) return url;
  refuse(exit_code::usage, file, "every user can read the password in it; chmod 600 it");
}

std::string variable(char const* name) {
  char const* const value = std::getenv(name);
  return value ? value : "";
}

constexpr char const* file_variable = "HERDLOCK_STORE_FILE";
constexpr char const* about_file = "A file whose first line is the URL, for one with a password";

// What is typed goes before what stands in the environment.
std::string url_beside(CLI::Option const& url, std::string const& file) {
  bool const file_typed = file != variable(file_variable);
  bool const url_typed = url.count() > 0 && url.results().front() != variable("HERDLOCK_STORE");
  if (url_typed && file_typed) {
    throw command_error(exit_code::usage, "--store-file excludes --store");
  }
  if (url.count() > 0 && !file_typed) return url.results().front();
  return read_url(file);
}

}  // namespace

void add_store_file_option(CLI::App& app, std::string& into) {
  CLI::Option const* const url = app.get_option("--store");
  auto const take = [url, &into](std::string const& file) { into = url_beside(*url, file); };
  app.add_option_function<std::string>("--store-file", take, about_file)
      ->envname(file_variable)
      ->type_name("FILE");
}

void add_store_files_option(CLI::App& app, std::vector<std::string>& into) {
  auto const take = [&into](std::vector<std::string> const& files) {
    for (auto const& file : files) into.push_back(read_url(file));
  };
  app.add_option_function<std::vector<std::string>>(
         "--store-file", take, std::string(about_file) + "; again for each further one")
      ->type_name("FILE")
      ->expected(1)
      ->take_all();
}

void add_store_options(CLI::App& app, store_arguments& arguments) {
  auto* const url =
      app.add_option(
             "--store", arguments.url,
             "Where the lease lives: sqlite:PATH, redis://…, postgres://…, zk://…\n"
             "(default: HERDLOCK_STORE, else the file that HERDLOCK_STORE_FILE names, else\n"
             "herdlock.db in $XDG_STATE_HOME/herdlock, without that variable in\n"
             "~/.local/state/herdlock: all processes of one user that agree on these)")
          ->type_name("URL");
  app.add_option("--store-file", arguments.file, about_file)->type_name("FILE")->excludes(url);
}

std::string store_url_of(store_arguments const& arguments) {
  if (!arguments.url.empty()) return arguments.url;
  if (!arguments.file.empty()) return read_url(arguments.file);
  if (auto url = variable("HERDLOCK_STORE"); !url.empty()) return url;
  if (auto const file = variable(file_variable); !file.empty()) return read_url(file);
  return default_store_url();
}

store_choice store_choice_of(store_arguments const& arguments) {
  bool const named = !arguments.url.empty() || !arguments.file.empty() ||
                     !variable("HERDLOCK_STORE").empty() || !variable(file_variable).empty();
  return named ? store_choice::named : store_choice::by_default;
}

std::string about_default_store() {
  return fmt::format(
      "no store is named (--store): only processes on this machine that use the same file are "
      "excluded: {}",
      default_store_file().string());
}

}  // namespace herdlock::cli
