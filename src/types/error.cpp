#include <herdlock/error.hpp>

namespace herdlock {
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
    }
    return "unknown herdlock error";
  }
};

}  // namespace

std::error_category const& category() noexcept {
  static herdlock_category const instance;
  return instance;
}

std::error_code make_error_code(errc e) noexcept { return {static_cast<int>(e), category()}; }

std::string in_quotes(std::string_view text) {
  constexpr std::size_t enough = 80;
  constexpr char digits[] = "0123456789abcdef";
  std::string out = "'";
  for (char c : text.substr(0, enough)) {
    auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out += c;
    } else {
      out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return out + (text.size() > enough ? "…'" : "'");
}

}  // namespace herdlock
