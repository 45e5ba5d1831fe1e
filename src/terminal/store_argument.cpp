#include "terminal/store_argument.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <herdlock/url.hpp>

#include "terminal/exit_code.hpp"

namespace herdlock::cli {
namespace {

constexpr std::size_t max_url_bytes = 4096;

[[noreturn]] void raise_about(exit_code code, std::string const& file, std::string const& why) {
  throw command_error(code, fmt::format("the store's file {}: {}", in_quotes(file), why));
}

std::string variable(char const* name) {
  char const* const value = std::getenv(name);
  return value ? value : "";
}

bool everybody_reads(std::string const& file) {
  struct stat about {};
  return ::stat(file.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
         (about.st_mode & S_IROTH) != 0;
}

}  // namespace

std::string url_in_file(std::string const& file) {
  std::ifstream from(file);
  std::string line(max_url_bytes + 1, '\0');
  if (!from.read(line.data(), static_cast<std::streamsize>(line.size())) && !from.eof()) {
    raise_about(exit_code::unavailable, file, std::strerror(errno));
  }
  line.resize(static_cast<std::size_t>(from.gcount()));
  line.resize(std::min(line.find('\n'), line.size()));
  if (line.size() > max_url_bytes) {
    raise_about(exit_code::usage, file,
                fmt::format("its first line is over {} bytes", max_url_bytes));
  }
  line.resize(line.find_last_not_of("\r ") + 1);
  if (line.empty()) raise_about(exit_code::usage, file, "its first line is to be a store URL");
  auto const parsed = store_url::parse(line);
  if ((parsed && parsed->redacted() == line) || !everybody_reads(file)) return line;
  raise_about(exit_code::usage, file, "every user can read the password in it; chmod 600 it");
}

void add_store_options(CLI::App& app, store_arguments& arguments, std::string const& about) {
  auto* const url = app.add_option("--store", arguments.url, about)->type_name("URL");
  app.add_option("--store-file", arguments.file, about_store_file)
      ->type_name("FILE")
      ->excludes(url);
}

std::string named_store(store_arguments const& arguments) {
  if (!arguments.url.empty()) return arguments.url;
  if (!arguments.file.empty()) return url_in_file(arguments.file);
  if (auto url = variable("HERDLOCK_STORE"); !url.empty()) return url;
  auto const file = variable("HERDLOCK_STORE_FILE");
  return file.empty() ? std::string() : url_in_file(file);
}

std::string sqlite_url(std::filesystem::path const& file) {
  std::string url = "sqlite:";
  for (char const c : file.string()) {
    bool const has_a_meaning = c == '%' || c == '?' || c == '#';
    url += has_a_meaning ? fmt::format("%{:02X}", static_cast<unsigned>(c)) : std::string(1, c);
  }
  return url;
}

}  // namespace herdlock::cli
