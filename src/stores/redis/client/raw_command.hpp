// A command that stands in a batch of its own, where its reply is read: nobody else waits for it.
#pragma once

#include "stores/redis/client/command.hpp"

namespace herdlock::redis {

/// Never open, so no supervisor completes or times it; whoever made the batch reads its replies.
class raw_command final : public command {
 public:
  void encode(command_writer&, script_form) const override {}
  void complete(reply const&) override {}
  void fail(failure const&, completion) override {}
  bool open() const override { return false; }
};

/// Adds one command, given word by word, to a batch of raw commands.
template <class Words = std::initializer_list<std::string_view>>
void ask(batch& of, Words const& words) {
  auto word = words.begin();
  of.begin(*word);
  while (++word != words.end()) of.add(*word);
  of.end();
  of.commands.push_back(std::make_unique<raw_command>());
}

}  // namespace herdlock::redis
