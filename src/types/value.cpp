#include <herdlock/backend.hpp>

#include <algorithm>

namespace herdlock {
inline namespace v0 {

std::size_t value_bytes(cache_value const& value) noexcept {
  constexpr std::size_t per_field = 8;
  if (auto const* text = std::get_if<std::string>(&value)) return text->size();
  std::size_t bytes = 0;
  if (auto const* fields = std::get_if<hash_fields>(&value)) {
    for (auto const& [field, content] : *fields) bytes += per_field + field.size() + content.size();
  }
  return bytes;
}

failure check_value(cache_key const& key, cache_value const& value) {
  std::size_t bytes = value_bytes(value);
  if (bytes <= limits::max_value_bytes) return {};
  return make_failure(errc::invalid_value, "the value for " + in_quotes(key.str()) + " has " +
                                               std::to_string(bytes) + " bytes; at most " +
                                               std::to_string(limits::max_value_bytes) +
                                               " are allowed");
}

failure check_layout(cache_key const& key, cache_value const& value, layout form) {
  layout kept = std::holds_alternative<hash_fields>(value) ? layout::hash : layout::string;
  if (std::holds_alternative<absent>(value) || kept == form) return {};
  return make_failure(errc::wrong_type,
                      "the cache entry " + in_quotes(key.str()) + " is kept as a " +
                          (kept == layout::hash ? "hash" : "string") + ", but was asked for as a " +
                          (form == layout::hash ? "hash" : "string") +
                          "; use one layout for a key");
}

namespace {

void keep_once(std::string text, std::vector<std::string>& among) {
  if (among.size() >= limits::max_listed) return;
  if (std::find(among.begin(), among.end(), text) != among.end()) return;
  among.push_back(std::move(text));
}

}  // namespace

void store_warnings::add(std::string text) {
  std::lock_guard const lock(mutex_);
  keep_once(std::move(text), texts_);
}

void store_warnings::note(std::string text) {
  std::lock_guard const lock(mutex_);
  keep_once(std::move(text), notes_);
}

std::vector<std::string> store_warnings::notes() const {
  std::lock_guard const lock(mutex_);
  return notes_;
}

std::vector<std::string> store_warnings::list() const {
  std::lock_guard const lock(mutex_);
  return texts_;
}

}  // namespace v0
}  // namespace herdlock
