// The version of this herdlock. Its names live in an inline namespace of the ABI's version, so that
// objects of two versions do not link by mistake: include its headers, don't declare its types
// yourself.
#pragma once

/// major * 10'000 + minor * 100 + patch, for the preprocessor.
#define HERDLOCK_VERSION 100  // 0.1.0

namespace herdlock {
inline namespace v0 {

/// The version of the headers; herdlock_version() of the C API tells that of the library.
inline constexpr char const* version = "0.1.0";

}  // namespace v0
}  // namespace herdlock
