// The functions that the templates of loaders call.
#include <herdlock/detail/cache_loaders.hpp>

namespace herdlock {
inline namespace v0 {
namespace detail {
namespace {

thread_local loading_here* innermost = nullptr;

}  // namespace

loading_here::loading_here(void const* cache, std::string key)
    : cache_(cache), key_(std::move(key)), outer_(std::exchange(innermost, this)) {}

loading_here::~loading_here() { innermost = outer_; }

bool loading_here::includes(void const* cache, std::string_view key) noexcept {
  for (auto const* one = innermost; one; one = one->outer_) {
    if (one->cache_ == cache && one->key_ == key) return true;
  }
  return false;
}

loading_these::loading_these(void const* cache, std::vector<std::string> const& keys) {
  for (auto const& key : keys) scopes_.emplace_back(cache, key);
}

loading_these::~loading_these() {
  while (!scopes_.empty()) scopes_.pop_back();
}

load_outcome ended_its_thread() {
  return {.answer = {},
          .error = "the loader ended its thread instead of returning",
          .unfinished = true};
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
