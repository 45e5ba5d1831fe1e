// The port of a store that keeps rules for the processes that share it: written seldom, by people,
// and told to all; and does what one of them asks. For those who write a store. The rules at the
// top of herdlock/backend.hpp hold here, too.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <herdlock/backend.hpp>

namespace herdlock {
inline namespace v0 {

/// The rules of one topic, all of them. There is no time at which they go by themselves.
struct store_rules {
  std::uint64_t version = 0;  ///< 0: nobody has written any
  std::string text{};         ///< any bytes
};

struct rules_change {
  std::string topic;
  std::uint64_t expected = 0;  ///< the version that they are made from
  std::string text;
};

/// The request of the rule `keep` for the entry of a hot key.
struct prolong_request {
  cache_key key;
  milliseconds to;       ///< so much time shall be left to it from now on
  milliseconds at_most;  ///< at most so much beyond the first expiry that the store saw
};

/// Store handles that listen for rules: of a process as a rule one. Nothing: the store cannot tell.
using listener_count = std::optional<std::uint64_t>;

/// Called on the executor.
class rules_listener {
 public:
  virtual ~rules_listener() = default;
  /// Old ones may come late, or twice: the greatest version counts.
  virtual void on_rules(store_rules const& told) = 0;
};

class rules_store {
 public:
  virtual ~rules_store() = default;

  virtual void read_rules(std::string topic, handler<store_rules> done) = 0;
  /// Writes them in one step if their version is the expected one, and tells them to all who
  /// listen. The version that they have now, or 0: somebody else was first. It is greater than all
  /// versions before, also when the store has lost its data: it follows the store's clock. Not
  /// cancellable.
  virtual void write_rules(rules_change what, handler<std::uint64_t> done) = 0;
  /// Tells those that are there, if any, and all that are written from now on. Rules that are told
  /// while the store cannot reach its server are lost; it tells those that are there once it can. A
  /// listener that has gone hears nothing more.
  virtual void listen_for_rules(std::string topic, std::weak_ptr<rules_listener> to) = 0;
  /// How many listen for the rules of the topic now, as far as the store can tell.
  virtual void count_listeners(std::string topic, handler<listener_count> done) = 0;
  /// Lengthens the time to live of an entry, whoever has written it, in one step; when less than
  /// three quarters of `to` are left, so that many who ask do not write again and again. It is
  /// never shortened. An entry without an expiry is left alone, and one that has gone stays so. The
  /// first expiry is kept in the store, for all who ask; an entry that was written anew begins
  /// anew. Whether it was lengthened.
  virtual void prolong(prolong_request what, handler<bool> done) = 0;
};

}  // namespace v0
}  // namespace herdlock
