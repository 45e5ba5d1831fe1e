// What a user of an ACL has to be permitted. The pages of the stores print it, and doctor asks the
// server for it: a test holds the one against the other.
#pragma once

#include <herdlock/examination.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "stores/redis/client/one_shot_client.hpp"

namespace herdlock::redis {

/// For what the user is there.
enum class access_use { leases_and_values, redlock, plain_locks, getset_locks };

/// Commands that are missed together.
struct right_group {
  std::string_view check;               ///< the name of the finding
  severity weight;                      ///< when one of them is missing
  std::string_view consequence;         ///< likewise
  std::vector<command_words> commands;  ///< one of each that is sent, or that a script calls
  std::string_view keys{};              ///< as ACL SETUSER takes them; empty: the user's own
};

/// `key` is one that the user may use. The first group is what nothing goes without.
std::vector<right_group> rights_of(access_use use, std::string const& key);

/// What `wait_replicas` and `quarantine` need beside it.
right_group rights_to_confirm();

/// The channels of grants and events.
inline constexpr std::string_view channel_rules =
    "&herdlock:grants:* &{*}:herdlock:events:* &*::herdlock:events:*";

/// As ACL SETUSER reads them: `+get +client|tracking`.
std::string rules_of(std::vector<command_words> const& commands);

/// With its subcommand, if it is one of those that are permitted each for itself.
std::string shown(command_words const& command);

}  // namespace herdlock::redis
