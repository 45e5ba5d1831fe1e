// The bounds of one memory space, and what is in use of them.
#pragma once

#include <cstddef>
#include <herdlock/error.hpp>
#include <string>

namespace herdlock::memory {

/// At a bound the operation that would pass it fails with errc::overloaded and changes nothing.
/// URL options of the same names set them; the first handle on a named space decides.
struct bounds {
  /// Leases, values, claims, errors, reports and rules together.
  std::size_t max_entries = 1'000'000;
  std::size_t max_waiters = 1'000'000;           ///< queued acquires and watches together
  std::size_t max_bytes = std::size_t{1} << 30;  ///< names, values and errors together
};

class usage {
 public:
  explicit usage(bounds limits) : limits_(limits) {}

  failure check_entry(std::size_t bytes) const {
    if (entries_ >= limits_.max_entries) return full("max_entries", limits_.max_entries);
    return check_bytes(bytes, 0);
  }
  failure check_bytes(std::size_t bytes, std::size_t given_back) const {
    if (bytes_ - given_back + bytes > limits_.max_bytes) {
      return full("max_bytes", limits_.max_bytes);
    }
    return {};
  }
  failure check_waiter() const {
    return waiters_ >= limits_.max_waiters ? full("max_waiters", limits_.max_waiters) : failure{};
  }

  void add_entry(std::size_t bytes) { ++entries_, bytes_ += bytes; }
  void remove_entry(std::size_t bytes) { --entries_, bytes_ -= bytes; }
  void replace_bytes(std::size_t before, std::size_t now) { bytes_ = bytes_ - before + now; }
  void add_waiter() { ++waiters_; }
  void remove_waiter() { --waiters_; }

 private:
  static failure full(char const* which, std::size_t limit) {
    return make_failure(errc::overloaded, "the memory store is full (" + std::string(which) +
                                              " = " + std::to_string(limit) +
                                              "); use shorter ttls or raise the option");
  }

  bounds limits_;
  std::size_t entries_ = 0;
  std::size_t waiters_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace herdlock::memory
