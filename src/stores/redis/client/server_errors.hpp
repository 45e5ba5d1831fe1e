// What a server's error line means to a caller.
#pragma once

#include <string_view>

#include <herdlock/error.hpp>

namespace herdlock::redis {

/// Code and sentence for an error reply (`WRONGTYPE Operation against …`); `store` is the URL for
/// messages.
failure server_failure(std::string_view line, std::string_view store);

/// The same for the answer to a greeting (HELLO with the password), which is never quoted: a server
/// repeats what it does not understand.
failure refused_greeting(std::string_view line, std::string_view store);

/// The reply says that this server cannot serve now and another one behind the same name may: it is
/// a replica, lost its master or its cluster, or is starting.
bool is_misdirected(std::string_view line);

/// The server does not know a script by its hash, and has done nothing.
bool is_unknown_script(std::string_view line);

}  // namespace herdlock::redis
