#include "cache/near/near_tags.hpp"

#include <new>
#include <string>
#include <utility>

#include "runtime/tag_names.hpp"

namespace herdlock::runtime {
namespace {

detail::near_record_ptr record_of_now(cache_near const& near, algo::entry_tag const& one,
                                      clock::time_point now) {
  auto record = near.table().find_record(std::string(tag_record_prefix) + one.name, now);
  if (!record || record->role() != detail::near_role::support) return nullptr;
  auto const& of_tag = *static_cast<algo::tag_generations const*>(record->value());
  return of_tag == one.made_in ? std::move(record) : nullptr;
}

}  // namespace

void keep_record(cache_near& near, cache_key const& key, near_reading const& of,
                 algo::tag_record const& record) {
  // The record's entries are stale, and those are not kept.
  if (record.made_stale) return;
  near_reading as_support = of;
  as_support.answer.what = algo::near_answer::found::support;
  auto const how = near.admit(key, as_support);
  if (!how) return;
  try {
    auto value = std::make_shared<algo::tag_generations const>(record.now);
    near.insert(key, *how,
                {std::move(value), sizeof(algo::tag_generations), {}, detail::near_role::support});
  } catch (std::bad_alloc const&) {
    // The record is not kept, and neither are its entries.
  }
}

bool agrees(cache_near const& near, algo::entry_tag const& one, clock::time_point now) {
  try {
    return record_of_now(near, one, now) != nullptr;
  } catch (std::bad_alloc const&) {
    return false;
  }
}

std::optional<detail::near_supports> supports_of(cache_near const& near,
                                                 std::string_view extensions,
                                                 clock::time_point now) {
  auto const tags = algo::decode_tags(extensions);
  if (!tags) return std::nullopt;
  detail::near_supports all;
  for (auto const& one : *tags) {
    auto record = record_of_now(near, one, now);
    if (!record) return std::nullopt;
    all.push_back(std::move(record));
  }
  return all;
}

}  // namespace herdlock::runtime
