#include <herdlock/error.hpp>
#include <herdlock/printable.hpp>

namespace herdlock {
inline namespace v0 {
namespace {

struct herdlock_category final : std::error_category {
  char const* name() const noexcept override { return "herdlock"; }

  std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::unavailable:
        return "the store is unavailable";
      case errc::timed_out:
        return "the store did not answer in time";
      case errc::canceled:
        return "the operation was cancelled";
      case errc::lost:
        return "the lease is lost";
      case errc::access_denied:
        return "access to the store was denied";
      case errc::protocol:
        return "the store gave an unexpected answer";
      case errc::wrong_type:
        return "the key holds a value of another kind";
      case errc::invalid_name:
        return "invalid name";
      case errc::invalid_owner:
        return "invalid owner token";
      case errc::invalid_ttl:
        return "invalid ttl";
      case errc::invalid_value:
        return "invalid value";
      case errc::invalid_url:
        return "invalid store URL";
      case errc::unknown_scheme:
        return "unknown scheme in store URL";
      case errc::not_built:
        return "this store was not built in";
      case errc::overloaded:
        return "a bound is reached";
      case errc::load_failed:
        return "the load failed";
      case errc::not_supported:
        return "not supported by this store";
      case errc::moving:
        return "the store is moving the key to another of its servers";
      case errc::forked:
        return "the store belongs to the process that this one was forked from";
    }
    return "unknown herdlock error";
  }
};

}  // namespace

std::error_category const& category() noexcept {
  union kept {  // also while the process ends: it is never destroyed
    kept() noexcept : instance() {}
    ~kept() {}
    herdlock_category instance;
  };
  static kept const all;
  return all.instance;
}

std::error_code make_error_code(errc e) noexcept { return {static_cast<int>(e), category()}; }

namespace {

// How many bytes the character at the beginning of the text has, 0 for what is none, or not to be
// shown. Overlong forms are no concern: they begin with what is refused here, or are not decoded.
std::size_t shown_bytes(std::string_view text) {
  auto const byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  unsigned const first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  std::size_t const size = first >= 0xf5   ? 0
                           : first >= 0xf0 ? 4
                           : first >= 0xe0 ? 3
                           : first >= 0xc2 ? 2
                                           : 0;
  if (size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  bool const is_control = first == 0xc2 && byte(1) < 0xa0;
  return is_control ? 0 : size;
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    std::size_t const size = shown_bytes(text);
    if (size == 0) {
      auto const byte = static_cast<unsigned char>(text[0]);
      out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    }
    out += text.substr(0, size);
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t enough = 80;
  std::string const shown = printable(text.substr(0, enough));
  return "'" + shown + (text.size() > enough ? "…'" : "'");
}

std::ostream& operator<<(std::ostream& out, failure const& f) {
  if (!f) return out << "success";
  return out << (f.message.empty() ? f.code.message() : f.message);
}

}  // namespace v0
}  // namespace herdlock
