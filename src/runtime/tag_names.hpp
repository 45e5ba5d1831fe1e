// How the record of a tag is called beside the entries of its cache.
#pragma once

#include <string_view>

namespace herdlock::runtime {

/// Text between a cache's prefix and a tag's name. No key of framed entries begins so.
inline constexpr std::string_view tag_record_prefix = "herdlock:tag:";

}  // namespace herdlock::runtime
