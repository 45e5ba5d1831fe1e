// Outcome, error, bug. Busy, miss and superseded are values; trouble with a store is a `failure`
// (an error_code and a sentence); a broken precondition is an assert that stays on.
#pragma once

#include <herdlock/detail/boost_version.hpp>

#include <boost/system/result.hpp>
#include <iosfwd>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace herdlock {
inline namespace v0 {

/// herdlock's own conditions.
enum class errc {
  unavailable = 1,  ///< the store cannot answer: no connection, restart, shutdown
  timed_out,        ///< the store did not answer by the operation's deadline
  canceled,         ///< the caller cancelled, or the store handle is being closed
  lost,             ///< the right can no longer be proved
  access_denied,    ///< wrong user or password, or a missing right
  protocol,         ///< the store answered something that makes no sense here
  wrong_type,       ///< the key holds a value of another kind
  invalid_name,     ///< empty, longer than limits::max_name_bytes, or with a NUL
  invalid_owner,    ///< not the text of an owner token
  invalid_ttl,      ///< outside limits::min_ttl … limits::max_ttl
  invalid_value,    ///< a value over limits::max_value_bytes, or one that cannot be decoded
  invalid_url,      ///< a store URL that cannot be parsed
  unknown_scheme,   ///< a store URL with a scheme that does not exist
  not_built,        ///< a backend that this build leaves out
  overloaded,       ///< a bound (queue, waiters, loads) is reached
  load_failed,      ///< the loader failed; the text is the loader's own
  not_supported,    ///< the store has no such operation
  moving,           ///< of a cache: the store is moving this key to another of its servers
  forked,           ///< the store was opened before fork(), by the parent: a child opens its own
};

std::error_category const& category() noexcept;
std::error_code make_error_code(errc e) noexcept;

/// Why an operation could not be carried out: a code to decide on, a sentence to print. The
/// sentence names the resource, the store (never its password) and the way out.
///
/// As a completion's first argument it is a disposition (`boost::asio::disposition_traits`):
/// in a coroutine and from a future it is thrown as herdlock::error, `boost::asio::as_tuple` gives
/// it beside the value.
struct failure {
  std::error_code code;
  std::string message;

  /// True when there is something wrong.
  explicit operator bool() const noexcept { return static_cast<bool>(code); }
};

inline failure make_failure(errc e, std::string message) {
  return failure{make_error_code(e), std::move(message)};
}
inline bool operator==(failure const& f, errc e) noexcept { return f.code == make_error_code(e); }

/// The sentence; "success" when there is none.
std::ostream& operator<<(std::ostream& out, failure const& f);

/// A name for messages: in quotes, control bytes as \xNN, cut at 80 bytes, so that whatever the
/// caller's name holds, a message stays one line.
std::string in_quotes(std::string_view text);

/// A value or a failure, from calls that do not throw. `value()` throws `error`.
template <class T>
using result = boost::system::result<T, failure>;

/// The exception of the blocking façade. One type also between libraries that hide their symbols.
class [[gnu::visibility("default")]] error : public std::runtime_error {
 public:
  explicit error(failure why) : std::runtime_error(why.message), code_(why.code) {}
  std::error_code const& code() const noexcept { return code_; }

 private:
  std::error_code code_;
};

/// Found by argument-dependent lookup when `value()` is called on a failed result.
[[noreturn]] inline void throw_exception_from_error(failure const& why,
                                                    boost::source_location const&) {
  throw error(why);
}

}  // namespace v0
}  // namespace herdlock

template <>
struct std::is_error_code_enum<herdlock::errc> : std::true_type {};
