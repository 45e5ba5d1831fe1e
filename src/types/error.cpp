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

// How many bytes the code point at the beginning of the text has, as UTF-8 has it; 0: it has none.
std::size_t utf8_bytes(std::string_view text) {
  auto const byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  unsigned const first = byte(0);
  if (first < 0x80) return 1;
  std::size_t const size = first >= 0xf5   ? 0
                           : first >= 0xf0 ? 4
                           : first >= 0xe0 ? 3
                           : first >= 0xc2 ? 2
                                           : 0;
  if (size == 0 || size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  unsigned const second = byte(1);
  bool const overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  bool const surrogate = first == 0xed && second >= 0xa0;
  bool const too_great = first == 0xf4 && second >= 0x90;
  return overlong || surrogate || too_great ? 0 : size;
}

// What moves the cursor or colours, and what turns a row around.
bool is_control(std::string_view code_point) {
  auto const first = static_cast<unsigned char>(code_point[0]);
  if (code_point.size() == 1) return first < 0x20 || first == 0x7f;
  auto const last = static_cast<unsigned char>(code_point.back());
  if (code_point.starts_with("\xc2")) return last < 0xa0;  // C1
  if (code_point == "\xd8\x9c") return true;               // U+061C
  if (code_point.starts_with("\xe2\x80")) {                // U+200E, U+200F, U+202A to U+202E
    return last == 0x8e || last == 0x8f || (last >= 0xaa && last <= 0xae);
  }
  return code_point.starts_with("\xe2\x81") && last >= 0xa6 && last <= 0xa9;  // U+2066 to U+2069
}

std::string shown(std::string_view text, std::string_view backslash) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    std::size_t const size = utf8_bytes(text);
    auto const next = text.substr(0, size == 0 ? 1 : size);
    if (next == "\\") {
      out += backslash;
    } else if (size != 0 && !is_control(next)) {
      out += next;
    } else {
      for (char const c : next) {
        auto const byte = static_cast<unsigned char>(c);
        out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
      }
    }
    text.remove_prefix(next.size());
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return shown(text, "\\"); }

std::string escaped(std::string_view text) { return shown(text, "\\\\"); }

std::string in_quotes(std::string_view text) {
  constexpr std::size_t enough = 80;
  return "'" + escaped(text.substr(0, enough)) + (text.size() > enough ? "…'" : "'");
}

std::ostream& operator<<(std::ostream& out, failure const& f) {
  if (!f) return out << "success";
  return out << (f.message.empty() ? f.code.message() : f.message);
}

}  // namespace v0
}  // namespace herdlock
