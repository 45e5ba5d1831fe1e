// How the record of a tag is called beside the entries of its cache.
#pragma once

#include <string_view>

namespace herdlock::runtime {

/// In front of a tag's name, behind the cache's prefix. No key of framed entries begins so.
inline constexpr std::string_view tag_record_prefix = "herdlock:tag:";

}  // namespace herdlock::runtime
