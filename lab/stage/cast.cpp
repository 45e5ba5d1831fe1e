#include "stage/cast.hpp"

#include <algorithm>

namespace herdlock::lab {

// What the user is to read of it, and how the program ends, goes to the complaint.
forked_process cast::forked(std::string const& name, std::function<void()> const& work) {
  return forked_process([&] {
    try {
      work();
      return 0;
    } catch (command_error const& e) {
      why_->raise(e.code(), e.what());
    } catch (error const& e) {
      why_->raise(cli::exit_code_of(e.code()), e.what());
    } catch (std::exception const& e) {
      why_->raise(exit_code::internal, name + ": " + e.what());
    }
    return 1;
  });
}

std::size_t cast::start(std::string name, std::function<void()> const& work) {
  auto process = forked(name, work);
  members_.push_back({std::move(name), work, std::move(process)});
  return members_.size() - 1;
}

void cast::start_all(std::size_t count, std::string const& name,
                     std::function<void(std::size_t)> const& work) {
  for (std::size_t i = 0; i < count; ++i) {
    start(name + " " + std::to_string(i + 1), [work, i] { work(i); });
  }
}

void cast::look(may_end now) {
  for (auto& each : members_) {
    if (each.gone || !each.process.ended()) continue;
    each.gone = true;
    if (now == may_end::yes && !each.process.failed()) continue;
    std::string const text(why_->text());
    if (!text.empty()) throw command_error(why_->status(), text);
    throw command_error(
        exit_code::unavailable,
        each.name + " died by itself; was it killed, or is there too little memory?");
  }
}

bool cast::all_ended() const {
  return std::all_of(members_.begin(), members_.end(), [](member const& one) { return one.gone; });
}

void cast::kill(std::size_t number) {
  members_[number].process.kill();
  members_[number].gone = true;
}

void cast::start_again(std::size_t number) {
  member& one = members_[number];
  one.process = forked(one.name, one.work);
  one.gone = false;
}

}  // namespace herdlock::lab
