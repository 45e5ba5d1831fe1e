// What the sources of a survey have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/survey.hpp>
#include "stores/common/client_survey.hpp"
#include "stores/redis/client/reply.hpp"
#include "stores/redis/hot/survey_servers.hpp"

namespace herdlock::redis {

using stores::counted;
using stores::keep_greatest;
using stores::tell_progress;

/// What counts of a longer key (algo::hot_key_id::kept_bytes).
inline constexpr std::size_t kept_key_bytes = 256;

/// Herdlock's side keys, which nobody can keep near.
inline bool is_own_key(std::string_view key) { return key.find(":herdlock:") != key.npos; }

/// A command that a survey needs, for the messages of a server that refuses it.
struct needed_command {
  std::string name;
  std::string serves = {};   ///< behind "which": what it does; empty where its name says that
  std::string right = {};    ///< as ACL SETUSER takes it
  std::string instead = {};  ///< what to do where the server does not permit it, or lacks it
};

/// What an error of a server means that was asked for this command.
failure refused(settings const& how, std::string_view line, needed_command const& what);

/// Of INFO stats: what the server executes; nothing when it does not tell.
std::optional<std::int64_t> commands_a_second(reply const& info);

/// The bytes of the values, by MEMORY USAGE.
void add_sizes(surveyed_servers const& servers, survey_source source, survey& into);

/// In seconds, with one digit behind the point.
std::string in_seconds(clock::duration span);

}  // namespace herdlock::redis
