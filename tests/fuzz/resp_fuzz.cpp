// What is read of any bytes is the same in one piece and in two.
//
// The first byte says where they are cut, and whether it is requests that are read.
#include <cstdint>
#include <cstdlib>

#include "unit/resp_values.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view const stream(reinterpret_cast<char const*>(data) + 1, size - 1);
  herdlock::resp::parser_limits limits;
  limits.line_bytes = 64;
  limits.depth = 8;
  if (data[0] % 2 == 1) limits.speech = herdlock::resp::grammar::requests;
  auto const whole = herdlock_test::parse_whole(stream, limits);
  std::size_t const cut = stream.empty() ? 0 : data[0] / 2 % stream.size();
  if (herdlock_test::parse_in_pieces(stream, {cut}, limits) != whole) std::abort();
  return 0;
}
