// Looks at a server before a connection to it counts: what it is, whether it will do, and what it
// lacks.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <herdlock/backend.hpp>
#include "stores/redis/client/server_facts.hpp"
#include "stores/redis/client/transport.hpp"
#include "stores/redis/settings.hpp"

namespace herdlock::redis {

/// Without code: the server will do.
struct verdict {
  failure why;
  failure_kind kind = failure_kind::temporary;
};

/// One for each connection; all members on the executor. An ACL that does not permit INFO or TIME
/// makes the facts unknown, which is a warning and no refusal. With `members` in the settings a
/// server that is none of them is passed over, as if it were not there.
class connection_check {
 public:
  /// `warnings` may be null.
  connection_check(settings const& how, std::shared_ptr<store_warnings> warnings);

  void ask(batch& into) const;
  /// `address` is where the server is, for messages.
  verdict verdict_on(std::span<reply const> answers, std::string const& address);

  /// What the last server told.
  server_facts const& facts() const { return facts_; }

 private:
  void read(std::span<reply const> answers, std::string const& address);
  verdict misdirected(std::string const& address) const;
  void warn_of_weaknesses(std::string const& address);
  void warn(std::string const& text);

  settings how_;
  std::shared_ptr<store_warnings> warnings_;
  server_facts facts_;
};

}  // namespace herdlock::redis
