// Neighbours in a write that share a script call: entering a script is a third of what an acquire
// or a release costs the server.
//
// Each command is recorded as it would have been sent alone. The call has the keys of all in front,
// then a letter and the arguments of each (scripts/many.lua). The reply is a list: bundled_answers.
#pragma once

#include <deque>

#include "stores/redis/client/command.hpp"

namespace herdlock::redis {

/// One script call does at most so many: the server does nothing else meanwhile.
inline constexpr std::size_t max_bundled_commands = 16;

class script_bundle {
 public:
  /// How many of the first commands may share a call. At least 1: the first one goes in any case.
  static std::size_t joinable(std::deque<command_ptr> const& waiting);

  /// The command must live until write().
  void add(command const& one);
  /// Encodes the call of all that were added, and forgets them.
  void write(command_writer& to);

  /// Whether this element of the list answers its command. If not, the command is asked again.
  static bool answers(reply const& element);
  /// Before it is asked again: alone, or when the server did not know the script, in a bundle that
  /// brings the script along.
  void prepare_again(command& one, reply const& element);

 private:
  class recorded_script final : public command_writer {
   public:
    void record(command const& one);
    std::string_view step() const { return step_; }
    std::span<std::string_view const> keys() const { return rest_.first(key_count_); }
    std::span<std::string_view const> arguments() const { return rest_.subspan(key_count_); }

   private:
    void push(std::span<std::string_view const> call) override;

    std::string_view step_;
    std::span<std::string_view const> rest_;  // behind the number of keys
    std::size_t key_count_ = 0;
  };

  std::deque<recorded_script> calls_;  // those from used_ on are kept for the next time
  std::size_t used_ = 0;
  script_form form_ = script_form::by_hash;  // of the next call
};

}  // namespace herdlock::redis
