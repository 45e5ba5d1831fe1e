// A small number for each thread, so that what threads keep apart can stand in an array.
#pragma once

#include <cstddef>

namespace herdlock {
inline namespace v0 {
namespace detail {

/// Threads that have a number at a time. The next ones have none, for their whole life.
inline constexpr std::size_t most_numbered_threads = 256;

/// The number of the calling thread: less than most_numbered_threads, and no other thread has it
/// meanwhile. most_numbered_threads: it has none. A thread that ends gives its number to the next
/// that asks, and what it did before is then visible to that one.
std::size_t thread_number() noexcept;

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
