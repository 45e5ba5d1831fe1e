// The records of tags in a near cache: entries with tags rest on them (cache/near/near_record.hpp).
//
//   1. an entry is read, and each of its tags: both tracked, in any order
//   2. the generations are the same, and neither has changed since it was read: the entry is kept,
//      and rests on the records
//   3. somebody ends the tag: the server pushes the record's key, and the record is dropped
//   4. nothing that rests on it is served from there on, however many entries that is
//
// So a fence and the end of a connection need to know nothing of tags: they end records, as they
// end entries.
// Why: docs/decisions/tags.md#kept-entries-rest-on-their-tags
#pragma once

#include <optional>
#include <string_view>

#include "algo/tag_check.hpp"
#include "cache/near/near.hpp"

namespace herdlock::runtime {

/// Keeps a record that was read over `near`: in the event of its reply.
void keep_record(cache_near& near, cache_key const& key, near_reading const& of,
                 algo::tag_record const& record);

/// Whether these are the tag's generations of now, as far as the server has pushed. Without memory
/// to find out: false.
bool agrees(cache_near const& near, algo::entry_tag const& one, clock::time_point now);

/// The records that an entry is to rest on. Nothing when the record of a tag is not kept, or has
/// other generations. `extensions`: of its header.
std::optional<detail::near_supports> supports_of(cache_near const& near,
                                                 std::string_view extensions,
                                                 clock::time_point now);

}  // namespace herdlock::runtime
