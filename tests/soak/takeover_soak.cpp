// How soon another leads, and do ever two: `herdlock bench takeover` on servers of its own.
//
//   takeover_soak [--rounds N] [--ttl TIME] [--excess TIME]
//                 [--only redis|sqlite|postgres|zookeeper] [--json]
//
// Prints the command's table; ends with its status: 1 when a promise was broken.
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <support/child_process.hpp>
#include <support/postgres_server.hpp>
#include <support/redis_server.hpp>
#include <support/temp_dir.hpp>
#include <support/zookeeper_server.hpp>
#include <vector>

namespace {

using namespace herdlock_test;

struct soak_options {
  std::string rounds = "1";
  std::string ttl = "2s";
  std::string only;
  std::vector<std::string> passed_on;
};

std::optional<soak_options> parse(int argc, char** argv) {
  soak_options options;
  for (int i = 1; i < argc; ++i) {
    std::string const word = argv[i];
    if (word == "--json") {
      options.passed_on.push_back(word);
      continue;
    }
    if (++i == argc) return std::nullopt;
    if (word == "--rounds")
      options.rounds = argv[i];
    else if (word == "--ttl")
      options.ttl = argv[i];
    else if (word == "--excess")
      options.passed_on.insert(options.passed_on.end(), {word, argv[i]});
    else if (word == "--only")
      options.only = argv[i];
    else
      return std::nullopt;
  }
  return options;
}

struct place {
  char const* name;
  std::function<std::string()> url;
};

int soak(soak_options const& options) {
  temp_dir folder;
  std::vector<place> const places{
      {"redis", [] { return redis_server::shared().url(); }},
      {"sqlite", [&] { return "sqlite:" + (folder.path() / "takeover.db").string(); }},
      {"postgres", [] { return postgres_server::shared().fresh_url(); }},
      // Its session ends where the ttl of the others does.
      {"zookeeper", [&] {
         auto& server = zookeeper_server::shared();
         return server.url(server.fresh_chroot()) + "?session_timeout=" + options.ttl;
       }}};
  std::vector<std::string> argv{HERDLOCK_COMMAND, "bench", "takeover", "--rounds",
                                options.rounds,   "--ttl", options.ttl};
  argv.insert(argv.end(), options.passed_on.begin(), options.passed_on.end());
  for (auto const& [name, url] : places) {
    if (!options.only.empty() && options.only != name) continue;
    argv.insert(argv.end(), {"--store", url()});
  }
  child_process command({.argv = argv});
  auto const status = command.wait(std::chrono::hours(24));
  std::fputs(command.output().c_str(), stdout);
  std::fputs(command.errors().c_str(), stderr);
  return status && status->code ? *status->code : 1;
}

}  // namespace

int main(int argc, char** argv) {
  auto const options = parse(argc, argv);
  if (!options) {
    std::fputs(
        "usage: takeover_soak [--rounds N] [--ttl TIME] [--excess TIME] [--only STORE] "
        "[--json]\n",
        stderr);
    return 64;
  }
  try {
    return soak(*options);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "takeover_soak: %s\n", e.what());
    return 1;
  }
}
