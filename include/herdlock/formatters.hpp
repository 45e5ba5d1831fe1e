// Names, tokens and failures for std::format and fmt. For std::format where the library has it; for
// fmt where <fmt/format.h> was included before.
//
//     std::format("{} is busy, fence {}", report.name(), lease.fencing());
//
// The text is what `operator<<` writes: names and labels for a terminal, no secrets.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <version>

#ifdef __cpp_lib_format
#include <format>
#endif

#include <herdlock/error.hpp>
#include <herdlock/types.hpp>

namespace herdlock {
inline namespace v0 {
namespace detail {

template <class T>
std::string streamed(T const& what) {
  std::ostringstream out;
  out << what;
  return std::move(out).str();
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock

#ifdef __cpp_lib_format
template <class Tag>
struct std::formatter<herdlock::name<Tag>> : std::formatter<std::string> {
  auto format(herdlock::name<Tag> const& what, auto& context) const {
    return std::formatter<std::string>::format(herdlock::detail::streamed(what), context);
  }
};
template <>
struct std::formatter<herdlock::owner_token> : std::formatter<std::string> {
  auto format(herdlock::owner_token const& what, auto& context) const {
    return std::formatter<std::string>::format(herdlock::detail::streamed(what), context);
  }
};
template <>
struct std::formatter<herdlock::failure> : std::formatter<std::string> {
  auto format(herdlock::failure const& what, auto& context) const {
    return std::formatter<std::string>::format(herdlock::detail::streamed(what), context);
  }
};
template <>
struct std::formatter<herdlock::fencing_token> : std::formatter<std::uint64_t> {
  auto format(herdlock::fencing_token what, auto& context) const {
    return std::formatter<std::uint64_t>::format(what.value, context);
  }
};
#endif

#ifdef FMT_VERSION
template <class Tag>
struct fmt::formatter<herdlock::name<Tag>> : fmt::formatter<std::string> {
  auto format(herdlock::name<Tag> const& what, auto& context) const {
    return fmt::formatter<std::string>::format(herdlock::detail::streamed(what), context);
  }
};
template <>
struct fmt::formatter<herdlock::owner_token> : fmt::formatter<std::string> {
  auto format(herdlock::owner_token const& what, auto& context) const {
    return fmt::formatter<std::string>::format(herdlock::detail::streamed(what), context);
  }
};
template <>
struct fmt::formatter<herdlock::failure> : fmt::formatter<std::string> {
  auto format(herdlock::failure const& what, auto& context) const {
    return fmt::formatter<std::string>::format(herdlock::detail::streamed(what), context);
  }
};
template <>
struct fmt::formatter<herdlock::fencing_token> : fmt::formatter<std::uint64_t> {
  auto format(herdlock::fencing_token what, auto& context) const {
    return fmt::formatter<std::uint64_t>::format(what.value, context);
  }
};
#endif
