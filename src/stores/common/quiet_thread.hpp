// Threads of our own.
#pragma once

#include <functional>
#include <thread>

namespace herdlock::stores {

/// A thread that takes no signals: those are for the threads of the program that uses us. Its name
/// is a literal, of which 15 bytes are shown. Throws std::system_error when there is none to be
/// had. The body throws nothing.
std::thread start_quiet_thread(char const* name, std::function<void()> body);

/// One that nobody joins: it owns all that it touches. False when there is none to be had.
[[nodiscard]] bool start_loose_thread(char const* name, std::function<void()> body);

}  // namespace herdlock::stores
