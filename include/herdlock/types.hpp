// The words of herdlock as types: resource, owner_token, fencing_token, the clock, the bounds.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

#include <herdlock/error.hpp>

namespace herdlock {
inline namespace v0 {

using std::chrono::milliseconds;

/// The clock that every local deadline is counted on: CLOCK_BOOTTIME.
///
/// The clock never jumps and it goes on while the machine is suspended, so that a laptop that slept
/// through its ttl knows on waking that the lease is gone. Never compared across machines.
struct clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<clock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept;
};

/// Bounds with their names. Each has a test at the limit and at limit + 1.
namespace limits {
inline constexpr std::size_t max_name_bytes = 512;                ///< resource names and cache keys
inline constexpr std::size_t max_owner_bytes = 128;               ///< owner token, label included
inline constexpr std::size_t max_label_bytes = 80;                ///< label of one's own in it
inline constexpr std::size_t max_value_bytes = 16 * 1024 * 1024;  ///< one cache value, encoded
inline constexpr std::size_t max_tags = 8;                        ///< of one cache entry
inline constexpr std::size_t max_listed = 100;                    ///< waiters, warnings in a list
inline constexpr std::size_t max_page = 1000;                     ///< names in a part of a list
inline constexpr milliseconds min_ttl{10};
inline constexpr milliseconds max_ttl{std::chrono::hours{24 * 365}};
}  // namespace limits

/// Wait without a limit of one's own; every round trip inside still has its deadline.
inline constexpr milliseconds wait_forever = milliseconds::max();

/// A checked name: 1 to limits::max_name_bytes bytes, any byte but NUL. `Tag` keeps resources and
/// cache keys apart where a checked name is asked for; where a text will do, both are texts.
/// Complexity of all operations: that of the string inside.
template <class Tag>
class name {
 public:
  /// Throws herdlock::error (errc::invalid_name) when the text is empty, too long or holds a NUL.
  explicit name(std::string_view text) : text_(checked(text)) {}

  /// The same without an exception.
  static result<name> parse(std::string_view text) {
    if (failure why = Tag::check(text); why.code) return why;
    return name(text);
  }

  std::string const& str() const noexcept { return text_; }
  /// So that a checked name goes wherever a text does.
  operator std::string_view() const noexcept { return text_; }
  friend auto operator<=>(name const&, name const&) = default;

 private:
  static std::string checked(std::string_view text) {
    if (failure why = Tag::check(text); why.code) throw error(why);
    return std::string(text);
  }
  std::string text_;
};

namespace detail {
struct resource_tag {
  static failure check(std::string_view text);
};
struct cache_key_tag {
  static failure check(std::string_view text);
};
}  // namespace detail

/// The named thing that is being protected.
using resource = name<detail::resource_tag>;
/// The name of a cache entry.
using cache_key = name<detail::cache_key_tag>;

/// For a terminal or a log: what printable() makes of it.
std::ostream& operator<<(std::ostream& out, resource const& name);
std::ostream& operator<<(std::ostream& out, cache_key const& key);

/// The secret that proves the holder to the store: `label:32 hex digits`, new for each acquisition.
///
/// The label (by default `host/pid`) is for people and may be shown; the digits are 128 bits from
/// the system's random source and must not be.
class owner_token {
 public:
  /// A fresh token labelled with this host and process.
  static owner_token generate();
  /// The same with a label of one's own: at most limits::max_label_bytes of it, and no NUL in it.
  static owner_token generate(std::string_view label);
  /// A token from its text, as another process handed it over. Fails with errc::invalid_owner.
  static result<owner_token> parse(std::string_view text);

  std::string const& str() const noexcept { return text_; }
  /// The part in front of the secret, safe to print.
  std::string_view label() const noexcept;
  friend bool operator==(owner_token const&, owner_token const&) = default;
  /// The label, and `***` for the secret.
  friend std::ostream& operator<<(std::ostream& out, owner_token const& token);

 private:
  explicit owner_token(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// The label of any stored owner text: what stands before the last ':'; a foreign token (one that
/// another client wrote) is shown as "another client".
std::string owner_label(std::string_view stored_owner);

/// True for a text that owner_token::generate() makes: one that ends with `/pid:` and 32 hex
/// digits. Linear in the length, up to limits::max_owner_bytes; longer texts are none.
bool is_own_token(std::string_view text) noexcept;

/// 64-bit number, strictly greater at each grant of a resource. Hand it to the system that the
/// lease protects, and let that system refuse anything smaller than the largest it has seen.
struct fencing_token {
  std::uint64_t value = 0;
  friend auto operator<=>(fencing_token const&, fencing_token const&) = default;
  friend std::ostream& operator<<(std::ostream& out, fencing_token token);
};

/// Checks a ttl against the limits; errc::invalid_ttl names what is allowed.
failure check_ttl(milliseconds ttl);

}  // namespace v0
}  // namespace herdlock

template <class Tag>
struct std::hash<herdlock::name<Tag>> {
  std::size_t operator()(herdlock::name<Tag> const& n) const noexcept {
    return std::hash<std::string>{}(n.str());
  }
};
