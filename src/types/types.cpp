#include <time.h>

#include <herdlock/printable.hpp>
#include <herdlock/types.hpp>
#include <herdlock/url.hpp>
#include <ostream>

namespace herdlock {
inline namespace v0 {
namespace {

failure check_name(std::string_view text, char const* what) {
  if (text.empty())
    return make_failure(errc::invalid_name, std::string("the ") + what + " is empty");
  if (text.size() > limits::max_name_bytes) {
    return make_failure(errc::invalid_name, std::string("the ") + what + " has " +
                                                std::to_string(text.size()) + " bytes; at most " +
                                                std::to_string(limits::max_name_bytes) +
                                                " are allowed (hash long names)");
  }
  if (text.find('\0') != std::string_view::npos) {
    return make_failure(errc::invalid_name, std::string("the ") + what + " contains a NUL byte");
  }
  return {};
}

}  // namespace

std::ostream& operator<<(std::ostream& out, resource const& name) {
  return out << printable(name.str());
}
std::ostream& operator<<(std::ostream& out, cache_key const& key) {
  return out << printable(key.str());
}
std::ostream& operator<<(std::ostream& out, fencing_token token) { return out << token.value; }
std::ostream& operator<<(std::ostream& out, owner_token const& token) {
  return out << printable(token.label()) << ":***";
}

clock::time_point clock::now() noexcept {
  timespec t{};
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  return time_point(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

failure detail::resource_tag::check(std::string_view text) {
  return check_name(text, "resource name");
}
failure detail::cache_key_tag::check(std::string_view text) {
  return check_name(text, "cache key");
}

std::string duration_text(milliseconds time) {
  struct unit {
    std::int64_t ms;
    char const* name;
  };
  constexpr unit units[] = {
      {24 * 60 * 60 * 1000, "d"}, {60 * 60 * 1000, "h"}, {60 * 1000, "m"}, {1000, "s"}};
  auto const ms = time.count();
  for (auto const& each : units) {
    if (ms != 0 && ms % each.ms == 0) return std::to_string(ms / each.ms) + each.name;
  }
  return std::to_string(ms) + "ms";
}

failure check_ttl(milliseconds ttl) {
  if (ttl >= limits::min_ttl && ttl <= limits::max_ttl) return {};
  return make_failure(errc::invalid_ttl,
                      "a ttl of " + duration_text(ttl) + " is not allowed; use 10ms to 365d");
}

}  // namespace v0
}  // namespace herdlock
