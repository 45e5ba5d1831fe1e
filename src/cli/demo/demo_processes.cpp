#include "demo/demo_processes.hpp"

#include <fmt/format.h>

#include "common/exit_code.hpp"

namespace herdlock::cli {

void demo_processes::start(std::string name, std::function<void()> const& work) {
  running_.push_back({std::move(name), forked_process(work, [](std::string_view) {})});
}

void demo_processes::look(may_end now) {
  std::erase_if(running_, [&](member& each) {
    if (!each.process.ended()) return false;
    if (now == may_end::no || each.process.failed()) raise_death(each.name);
    return true;
  });
}

void demo_processes::raise_death(std::string_view who) const {
  std::string const text(why_.text());
  if (!text.empty()) throw command_error(why_.status(), text);
  throw command_error(exit_code::unavailable,
                      fmt::format("{} died by itself; was it killed, or is there too little "
                                  "memory?",
                                  who));
}

}  // namespace herdlock::cli
