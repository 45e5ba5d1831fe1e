#include <time.h>

#include <herdlock/printable.hpp>
#include <herdlock/types.hpp>
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

failure check_ttl(milliseconds ttl) {
  if (ttl >= limits::min_ttl && ttl <= limits::max_ttl) return {};
  return make_failure(errc::invalid_ttl, "a ttl of " + std::to_string(ttl.count()) +
                                             " ms is not allowed; use 10 ms to 365 days");
}

}  // namespace v0
}  // namespace herdlock
