// Owner tokens: `host/pid:32 hex digits`.
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <herdlock/types.hpp>
#include <type_traits>

#include "types/process_bound.hpp"

namespace herdlock {
inline namespace v0 {
namespace {

constexpr std::size_t secret_bytes = 16;
constexpr std::size_t secret_digits = 2 * secret_bytes;
constexpr std::size_t longest_label = limits::max_owner_bytes - secret_digits - 1;
static_assert(limits::max_label_bytes + 2 + 10 <= longest_label, "the process stands behind it");

std::string process_label() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {'h', 'o', 's', 't'};
  std::string const pid = "/" + std::to_string(::getpid());
  return std::string(host.data()).substr(0, longest_label - pid.size()) + pid;
}

// Secrets from the kernel, fetched 32 at a time: a system call for each acquisition would cost as
// much as the rest of it. Used bytes are wiped. A child of fork() neither repeats its parent's
// random bytes nor goes by its name. Nothing of it is destroyed with its thread: destructors of the
// program's objects, which run later on the main thread, may still acquire.
class secret_source {
 public:
  secret_source() { detail::count_forks(); }

  std::string next_token() {
    auto const now = detail::fork_generation.load();
    if (used_ == pool_.size() || now != generation_) refill(now);
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    text.reserve(label_size_ + 1 + secret_digits);
    text.append(label_.data(), label_size_);
    text += ':';
    for (std::size_t i = 0; i < secret_bytes; ++i) {
      unsigned char const byte = std::exchange(pool_[used_++], 0);
      text += digits[byte >> 4];
      text += digits[byte & 15];
    }
    return text;
  }

 private:
  void refill(unsigned now) {
    // At most 256 bytes at once come in one piece; it does not fail once the system has booted.
    for (std::size_t at = 0; at < pool_.size(); at += 256) {
      if (::getrandom(pool_.data() + at, 256, 0) != 256) std::abort();
    }
    used_ = 0;
    generation_ = now;
    auto const label = process_label();
    label_size_ = label.copy(label_.data(), label_.size());
  }

  std::array<unsigned char, 32 * secret_bytes> pool_{};
  std::size_t used_ = pool_.size();
  unsigned generation_ = 0;
  std::array<char, longest_label> label_{};
  std::size_t label_size_ = 0;
};
static_assert(std::is_trivially_destructible_v<secret_source>);

bool ends_with_secret(std::string_view text) {
  if (text.size() < secret_digits + 1 || text.size() > limits::max_owner_bytes) return false;
  auto const secret = text.substr(text.size() - secret_digits);
  return text[text.size() - secret_digits - 1] == ':' &&
         secret.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Without the process that stands behind a label of the user's own.
std::string_view without_process(std::string_view label) {
  auto const mark = label.rfind("//");
  if (mark == label.npos || mark == 0 || mark + 2 == label.size()) return label;
  bool const is_number = label.find_first_not_of("0123456789", mark + 2) == label.npos;
  return is_number ? label.substr(0, mark) : label;
}

bool is_token(std::string_view text) {
  return ends_with_secret(text) && text.find('\0') == std::string_view::npos;
}

}  // namespace

owner_token owner_token::generate() {
  thread_local secret_source source;
  return owner_token(source.next_token());
}

owner_token owner_token::generate(std::string_view label) {
  auto const plain = generate();
  auto const secret = std::string_view(plain.text_).substr(plain.text_.size() - secret_digits - 1);
  auto text = std::string(label.substr(0, limits::max_label_bytes));
  return owner_token(text + "//" + std::to_string(::getpid()) + std::string(secret));
}

result<owner_token> owner_token::parse(std::string_view text) {
  if (!is_token(text)) {
    return make_failure(errc::invalid_owner, "not an owner token (label:32 hex digits)");
  }
  return owner_token(std::string(text));
}

std::string_view owner_token::label() const noexcept {
  return without_process(std::string_view(text_).substr(0, text_.size() - secret_digits - 1));
}

std::string owner_label(std::string_view stored_owner) {
  if (!is_token(stored_owner)) return "another client";
  return std::string(
      without_process(stored_owner.substr(0, stored_owner.size() - secret_digits - 1)));
}

bool is_own_token(std::string_view text) noexcept {
  if (!is_token(text)) return false;
  auto const label = text.substr(0, text.size() - secret_digits - 1);
  auto const slash = label.rfind('/');
  auto const pid = slash == label.npos ? std::string_view{} : label.substr(slash + 1);
  return !pid.empty() && pid.find_first_not_of("0123456789") == pid.npos;
}

}  // namespace v0
}  // namespace herdlock
