#include "algo/entry_tags.hpp"

#include "algo/byte_fields.hpp"

namespace herdlock::algo {
namespace {

constexpr char kind_of_tags = 't';
constexpr std::size_t generations_bytes = 16;

bool take_tags(std::string_view body, std::vector<entry_tag>& into) {
  byte_reader from(body);
  while (!from.at_end()) {
    auto const name = from.text(from.number(2));
    auto const made_in = decode_generations(from.text(generations_bytes));
    if (!made_in || name.empty() || into.size() >= limits::max_tags) return false;
    into.push_back({std::string(name), *made_in});
  }
  return true;
}

}  // namespace

std::string encode_tags(std::vector<entry_tag> const& tags) {
  if (tags.empty()) return {};
  std::string body;
  for (auto const& one : tags) {
    add_bytes_of(body, one.name.size(), 2);
    body += one.name;
    body += encode_generations(one.made_in);
  }
  std::string out(1, kind_of_tags);
  add_bytes_of(out, body.size(), 2);
  return out + body;
}

std::optional<std::vector<entry_tag>> decode_tags(std::string_view extensions) {
  std::vector<entry_tag> tags;
  byte_reader from(extensions);
  while (!from.at_end()) {
    bool const is_of_tags = from.number(1) == kind_of_tags;
    auto const body = from.text(from.number(2));
    if (!from.good()) return std::nullopt;
    if (is_of_tags && !take_tags(body, tags)) return std::nullopt;
  }
  return tags;
}

std::string encode_generations(tag_generations const& of_tag) {
  std::string out;
  add_bytes_of(out, of_tag.lives, 8);
  add_bytes_of(out, of_tag.is_fresh, 8);
  return out;
}

std::optional<tag_generations> decode_generations(std::string_view value) {
  byte_reader from(value);
  tag_generations const all{from.number(8), from.number(8)};
  if (!from.at_end()) return std::nullopt;
  return all;
}

}  // namespace herdlock::algo
