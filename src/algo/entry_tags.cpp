#include "algo/entry_tags.hpp"

#include <utility>

namespace herdlock::algo {
namespace {

constexpr char kind_of_tags = 't';
constexpr std::size_t generations_bytes = 16;

void add_number(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = bytes; i-- > 0;) {
    out += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  }
}

// Takes them off the front. Nothing, of either, when there are not so many.
std::optional<std::string_view> take_bytes(std::string_view& rest, std::size_t bytes) {
  if (rest.size() < bytes) return std::nullopt;
  auto const taken = rest.substr(0, bytes);
  rest.remove_prefix(bytes);
  return taken;
}

std::optional<std::uint64_t> take_number(std::string_view& rest, std::size_t bytes) {
  auto const taken = take_bytes(rest, bytes);
  if (!taken) return std::nullopt;
  std::uint64_t value = 0;
  for (char const byte : *taken) value = (value << 8) | static_cast<unsigned char>(byte);
  return value;
}

// The bytes behind their length, which has two bytes.
std::optional<std::string_view> take_counted(std::string_view& rest) {
  auto const length = take_number(rest, 2);
  return length ? take_bytes(rest, *length) : std::nullopt;
}

bool take_tags(std::string_view body, std::vector<entry_tag>& into) {
  while (!body.empty()) {
    auto const name = take_counted(body);
    auto const numbers = name ? take_bytes(body, generations_bytes) : std::nullopt;
    auto const made_in = numbers ? decode_generations(*numbers) : std::nullopt;
    if (!made_in || into.size() >= most_entry_tags) return false;
    into.push_back({std::string(*name), *made_in});
  }
  return true;
}

}  // namespace

std::string encode_tags(std::vector<entry_tag> const& tags) {
  if (tags.empty()) return {};
  std::string body;
  for (auto const& one : tags) {
    add_number(body, one.name.size(), 2);
    body += one.name;
    body += encode_generations(one.made_in);
  }
  std::string out(1, kind_of_tags);
  add_number(out, body.size(), 2);
  return out + body;
}

std::optional<std::vector<entry_tag>> decode_tags(std::string_view extensions) {
  std::vector<entry_tag> tags;
  while (!extensions.empty()) {
    char const kind = extensions.front();
    extensions.remove_prefix(1);
    auto const body = take_counted(extensions);
    if (!body) return std::nullopt;
    if (kind == kind_of_tags && !take_tags(*body, tags)) return std::nullopt;
  }
  return tags;
}

std::string encode_generations(tag_generations const& of_tag) {
  std::string out;
  add_number(out, of_tag.lives, 8);
  add_number(out, of_tag.is_fresh, 8);
  return out;
}

std::optional<tag_generations> decode_generations(std::string_view value) {
  if (value.size() != generations_bytes) return std::nullopt;
  auto const lives = take_number(value, 8);
  auto const is_fresh = take_number(value, 8);
  return tag_generations{*lives, *is_fresh};
}

}  // namespace herdlock::algo
