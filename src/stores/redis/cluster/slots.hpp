// The hash slot of a key in Redis Cluster, as the Redis Cluster specification defines it.
#pragma once

#include <cstdint>
#include <string_view>

#include <herdlock/error.hpp>

namespace herdlock::redis {

inline constexpr std::uint16_t slot_count = 16'384;

/// CRC16/XMODEM: polynomial 0x1021, starts with 0, nothing reflected.
std::uint16_t crc16(std::string_view bytes) noexcept;

/// The CRC of the key's hash tag, or of all of it when it has none, modulo slot_count.
std::uint16_t key_slot(std::string_view key) noexcept;

/// errc::invalid_name for a key whose side keys would fall into another slot than itself: one with
/// a '}' but without a hash tag. (`{a}b}:herdlock:fence` hashes `a`, the key `a}b` all of it.)
failure check_cluster_key(std::string_view key, std::string_view store);

}  // namespace herdlock::redis
