// A server that a scene has in its hands: to freeze it, to kill it, to ask it for its figures.
#pragma once

#include "terminal/exit_code.hpp"

namespace herdlock::lab {

/// `own_server<herdlock_test::redis_server>()`. Throws command_error (unavailable) when it does not
/// start: most often its program is not installed, and the message says so.
template <class Server, class... With>
Server own_server(With&&... with) {
  try {
    return Server(std::forward<With>(with)...);
  } catch (std::exception const& e) {
    throw cli::command_error(cli::exit_code::unavailable, e.what());
  }
}

}  // namespace herdlock::lab
