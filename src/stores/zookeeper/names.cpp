#include "stores/zookeeper/names.hpp"

#include <algorithm>

#include "stores/common/numbers.hpp"

namespace herdlock::zookeeper {
namespace {

constexpr std::size_t digits_of_guid = 32;
constexpr std::size_t digits_of_sequence = 10;
constexpr std::string_view mark = "herdlock ttl=";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string guid_of(owner_token const& owner) {
  auto const& text = owner.str();
  return text.substr(text.size() - digits_of_guid);
}

std::string with_dashes(std::string guid) {
  for (std::size_t at : {20, 16, 12, 8}) guid.insert(at, 1, '-');
  return guid;
}

void append_escaped(std::string& out, char c) {
  constexpr char digits[] = "0123456789ABCDEF";
  auto const byte = static_cast<unsigned char>(c);
  out += {'%', digits[byte >> 4], digits[byte & 15]};
}

}  // namespace

std::string component_of(resource const& name) {
  auto const& text = name.str();
  // What ZooKeeper does not take as a component, or keeps for itself.
  bool const special = text == "." || text == ".." || text == "zookeeper";
  std::string out;
  for (char c : text) {
    bool const plain = c >= 0x20 && c < 0x7f && c != '%' && c != '/';
    if (plain && !(special && out.empty())) {
      out += c;
    } else {
      append_escaped(out, c);
    }
  }
  return out;
}

std::optional<resource> resource_of(std::string_view component) {
  std::string text;
  for (std::size_t i = 0; i < component.size(); ++i) {
    auto const digits = component.substr(i + 1, 2);
    bool const marked = component[i] == '%' && digits.size() == 2;
    auto const byte = marked ? whole_number<unsigned>(digits, 16) : std::nullopt;
    text += byte ? static_cast<char>(*byte) : component[i];
    if (byte) i += 2;
  }
  auto name = resource::parse(text);
  if (!name || component_of(*name) != component) return std::nullopt;
  return *std::move(name);
}

std::string prefix_of(owner_token const& owner, naming how) {
  if (how == naming::kazoo) return guid_of(owner) + "__lock__";
  return "_c_" + with_dashes(guid_of(owner)) + "-lock-";
}

bool is_of(owner_token const& owner, std::string_view node) {
  return node.starts_with(prefix_of(owner, naming::curator)) ||
         node.starts_with(prefix_of(owner, naming::kazoo));
}

std::optional<std::int32_t> sequence_of(std::string_view node) {
  std::size_t begin = node.size();
  while (begin > 0 && is_digit(node[begin - 1])) --begin;
  // A '-' belongs to the number when the name in front of it is complete without.
  bool const negative =
      begin > 1 && node[begin - 1] == '-' && (node[begin - 2] == '-' || node[begin - 2] == '_');
  if (negative) --begin;
  if (node.size() - begin < digits_of_sequence) return std::nullopt;
  // Digits in front of the ten belong to the name.
  if (!negative) begin = node.size() - digits_of_sequence;
  return whole_number<std::int32_t>(node.substr(begin));
}

std::vector<std::string> in_order(std::vector<std::string> children) {
  std::erase_if(children, [](auto const& one) { return !sequence_of(one); });
  if (children.empty()) return children;
  auto const from = static_cast<std::uint32_t>(*sequence_of(children.front()));
  auto const distance = [from](std::string const& one) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(*sequence_of(one)) - from);
  };
  std::ranges::sort(children, {}, distance);
  return children;
}

std::string encode(owner_token const& owner, milliseconds ttl) {
  return std::string(mark) + std::to_string(ttl.count()) + " " + std::string(owner.label());
}

node_text decode(std::string_view data) {
  node_text foreign{owner_label("-"), milliseconds{0}};
  if (!data.starts_with(mark)) return foreign;
  data.remove_prefix(mark.size());
  auto const ttl = take_number<std::int64_t>(data, ' ');
  if (!ttl || *ttl < 0) return foreign;
  return {std::string(data), milliseconds(*ttl)};
}

}  // namespace herdlock::zookeeper
