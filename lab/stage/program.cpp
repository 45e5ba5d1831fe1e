#include "stage/scene.hpp"
#include "terminal/command_line.hpp"
#include "terminal/notice.hpp"

namespace herdlock::lab {
namespace {

// What every scene has.
struct command {
  explicit command(listed_scene const& what, CLI::App& app) : scene_(what.make()), declared(app) {
    scene_->declare(declared);
    declared.flag("--json", as_json, "Print the figures as JSON");
    if (what.draws) declared.text("--plot", picture, "Draw the figures into this file", "FILE.svg");
  }

  int run() {
    declared.check();
    scene_->check();
    stage on(report(as_json, picture));
    scene_->play(on);
    return on.end();
  }

  std::unique_ptr<scene> scene_;
  options declared;
  bool as_json = false;
  std::string picture;
};

}  // namespace

int run_program(int argc, char** argv, std::span<listed_scene const> scenes) {
  // Scenes have temporary folders and processes, which nobody clears up behind a SIGPIPE.
  cli::prepare_standard_streams();
  return cli::ended("herdlock-lab", [&] {
    cli::command_line program("herdlock-lab",
                              "herdlock-lab: what herdlock does, shown, tried for long, and "
                              "measured on this machine.",
                              "\nEach has a --help of its own, and ends with 0; with 1 when "
                              "something that is\npromised did not come about; 64 usage; 69 the "
                              "store cannot be used; 70 no memory\nor processes.");
    for (auto const& each : scenes) {
      CLI::App& app = cli::add_command(program.app(), each.name, each.does, "[OPTIONS]",
                                       std::string("\n") + each.help);
      auto const one = std::make_shared<command>(each, app);
      program.add({&app, [one] { return one->run(); }});
    }
    program.add_help("The manual page, and the completion of the shells");
    return program.run({argv + 1, argv + argc});
  });
}

}  // namespace herdlock::lab
