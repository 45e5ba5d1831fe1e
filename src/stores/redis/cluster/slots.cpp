#include "stores/redis/cluster/slots.hpp"

#include <array>
#include <string>

#include "stores/redis/keys.hpp"

namespace herdlock::redis {
namespace {

constexpr std::array<std::uint16_t, 256> make_table() {
  constexpr unsigned polynomial = 0x1021;
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < table.size(); ++byte) {
    unsigned rest = byte << 8;
    for (int bit = 0; bit < 8; ++bit) {
      rest = (rest & 0x8000U) != 0 ? (rest << 1) ^ polynomial : rest << 1;
    }
    table.at(byte) = static_cast<std::uint16_t>(rest & 0xffffU);
  }
  return table;
}

constexpr auto table = make_table();

}  // namespace

std::uint16_t crc16(std::string_view bytes) noexcept {
  unsigned crc = 0;
  for (char const c : bytes) {
    auto const at = ((crc >> 8) ^ static_cast<unsigned char>(c)) & 0xffU;
    crc = ((crc << 8) ^ table[at]) & 0xffffU;
  }
  return static_cast<std::uint16_t>(crc);
}

std::uint16_t key_slot(std::string_view key) noexcept {
  if (has_hash_tag(key)) {
    auto const open = key.find('{');
    key = key.substr(open + 1, key.find('}', open + 1) - open - 1);
  }
  return crc16(key) % slot_count;
}

failure check_cluster_key(std::string_view key, std::string_view store) {
  if (has_hash_tag(key) || key.find('}') == std::string_view::npos) return {};
  return make_failure(errc::invalid_name,
                      std::string(store) +
                          ": in a cluster a name with a '}' needs a hash tag, a part in braces "
                          "such as {order}; leave the '}' out or write one");
}

}  // namespace herdlock::redis
