// Which herdlock this is.
#pragma once

/// major * 10'000 + minor * 100 + patch, for the preprocessor.
#define HERDLOCK_VERSION 100  // 0.1.0

namespace herdlock {

/// Of the headers; herdlock_version() of the C API tells that of the library.
inline constexpr char const* version = "0.1.0";

}  // namespace herdlock
