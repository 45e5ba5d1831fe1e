// A new connection to a member of the settings, and why there is none.
#pragma once

#include <memory>
#include <string>

#include "stores/etcd/connection.hpp"

namespace herdlock::etcd {

struct dialed {
  std::unique_ptr<etcd::connection> connection;
  std::string file_error;  ///< why it is not made with the files that are there now
};

/// Not connected yet.
dialed dial(asio::any_io_executor const& executor, settings const& how, std::size_t member);

/// The member has answered: from now on, what TLS refuses there may pass.
void has_answered(settings const& how, std::size_t member);

/// Why the member could not be reached; `file_error` is of the connection that was tried.
failure failure_to_reach(settings const& how, std::size_t member, http_answer const& answer);

}  // namespace herdlock::etcd
