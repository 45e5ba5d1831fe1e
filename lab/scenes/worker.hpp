// A worker process of the demo: the hidden subcommand.
#pragma once

namespace herdlock::cli {

/// First argument of the command that starts a worker.
inline constexpr char const* worker_command = "stampede-worker";
/// The descriptor on which a worker finds the demo.
inline constexpr int worker_socket = 3;

/// Serves the demo until it closes the socket.
int run_worker();

}  // namespace herdlock::cli
