#include "stores/redis/hot/command_keys.hpp"

#include <algorithm>
#include <utility>

namespace herdlock::redis {
namespace {

constexpr std::size_t place_of_specs = 8, place_of_subcommands = 9;

/// A reply as a tree.
struct branch {
  std::string_view text;
  std::optional<std::int64_t> number;
  std::vector<branch> parts;

  /// Of a map.
  branch const* find(std::string_view name) const {
    for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
      if (parts[i].text == name) return &parts[i + 1];
    }
    return nullptr;
  }
  int number_of(std::string_view name, int otherwise) const {
    auto const* const found = find(name);
    constexpr std::int64_t most = 1'000'000;  // no command has so many words
    if (!found || !found->number) return otherwise;
    return static_cast<int>(std::clamp(*found->number, -most, most));
  }
};

constexpr int deepest = 16;

// From that node on, which becomes the one behind it.
branch tree_of(reply const& of, std::size_t& node, int depth = 0) {
  branch made{of.text(node), of.number(node), {}};
  std::size_t const parts = of.kind(node) == reply_kind::list ? of.list_size(node) : 0;
  ++node;
  for (std::size_t i = 0; i < parts && node < of.nodes() && depth < deepest; ++i) {
    made.parts.push_back(tree_of(of, node, depth + 1));
  }
  return made;
}

bool has_flag(branch const* flags, std::string_view name) {
  if (!flags) return false;
  return std::any_of(flags->parts.begin(), flags->parts.end(),
                     [&](branch const& one) { return one.text == name; });
}

// Nothing for a kind that is not known, as one that a newer server has.
std::optional<key_spec> spec_of(branch const& from) {
  auto const* const begin = from.find("begin_search");
  auto const* const find = from.find("find_keys");
  auto const* const begin_type = begin ? begin->find("type") : nullptr;
  auto const* const begin_spec = begin ? begin->find("spec") : nullptr;
  auto const* const find_type = find ? find->find("type") : nullptr;
  auto const* const find_spec = find ? find->find("spec") : nullptr;
  if (!begin_type || !begin_spec || !find_type || !find_spec) return std::nullopt;
  key_spec made;
  made.is_write = !has_flag(from.find("flags"), "RO");
  if (begin_type->text == "index") {
    made.index = begin_spec->number_of("index", 0);
  } else if (begin_type->text == "keyword") {
    made.begins = key_spec::search::keyword;
    auto const* const word = begin_spec->find("keyword");
    if (!word) return std::nullopt;
    made.keyword = word->text;
    made.index = begin_spec->number_of("startfrom", 1);
  } else {
    return std::nullopt;
  }
  if (find_type->text == "range") {
    made.last = find_spec->number_of("lastkey", 0);
    made.step = std::max(find_spec->number_of("keystep", 1), 1);
    made.limit = find_spec->number_of("limit", 0);
  } else if (find_type->text == "keynum") {
    made.keys = key_spec::find::number;
    made.number = find_spec->number_of("keynumidx", 0);
    made.first = find_spec->number_of("firstkey", 0);
    made.step = std::max(find_spec->number_of("keystep", 1), 1);
  } else {
    return std::nullopt;
  }
  return made;
}

std::string lower(std::string_view text) {
  std::string made(text);
  for (char& c : made) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return made;
}

// The first key; 0 when there is none.
int beginning(key_spec const& spec, std::span<std::string const> words) {
  auto const count = static_cast<int>(words.size());
  if (spec.begins == key_spec::search::index) return spec.index;
  bool const backwards = spec.index < 0;
  int const step = backwards ? -1 : 1;
  for (int at = backwards ? count + spec.index : spec.index; at > 0 && at < count; at += step) {
    if (lower(words[static_cast<std::size_t>(at)]) == lower(spec.keyword)) return at + 1;
  }
  return 0;
}

void add_keys(key_spec const& spec, std::span<std::string const> words,
              std::vector<used_key>& into) {
  auto const count = static_cast<int>(words.size());
  int first = beginning(spec, words);
  if (first <= 0 || first >= count) return;
  int last = 0;
  if (spec.keys == key_spec::find::number) {
    int const at = first + spec.number;
    if (at <= 0 || at >= count) return;
    auto const keys = whole_number<int>(words[static_cast<std::size_t>(at)]);
    if (!keys || *keys <= 0 || *keys > count) return;
    first += spec.first;
    auto const behind = std::int64_t(*keys - 1) * spec.step;
    last = static_cast<int>(std::min<std::int64_t>(first + behind, count - 1));
  } else if (spec.last >= 0) {
    last = first + spec.last;
  } else {
    last = count + spec.last;
    if (spec.limit > 1) last = first + (count - first) / spec.limit + spec.last;
  }
  for (int at = first; at > 0 && at <= std::min(last, count - 1); at += spec.step) {
    into.push_back({words[static_cast<std::size_t>(at)], spec.is_write});
  }
}

}  // namespace

std::optional<command_keys> command_keys::read(reply const& answer) {
  if (answer.kind() != reply_kind::list || answer.too_large()) return std::nullopt;
  std::size_t node = 0;
  command_keys made;
  std::vector<branch> commands = tree_of(answer, node).parts;
  while (!commands.empty()) {
    auto const one = std::move(commands.back());
    commands.pop_back();
    if (one.parts.empty()) continue;
    if (one.parts.size() > place_of_subcommands) {
      for (auto const& more : one.parts[place_of_subcommands].parts) commands.push_back(more);
    }
    std::vector<key_spec> specs;
    if (one.parts.size() > place_of_specs) {
      for (auto const& each : one.parts[place_of_specs].parts) {
        if (auto spec = spec_of(each)) specs.push_back(*std::move(spec));
      }
    }
    if (!specs.empty()) made.specs_.insert_or_assign(lower(one.parts[0].text), std::move(specs));
  }
  return made;
}

std::vector<used_key> command_keys::of(std::span<std::string const> words) const {
  std::vector<used_key> found;
  if (words.empty()) return found;
  auto const name = lower(words[0]);
  auto at = words.size() > 1 ? specs_.find(name + "|" + lower(words[1])) : specs_.end();
  if (at == specs_.end()) at = specs_.find(name);
  if (at == specs_.end()) return found;
  for (auto const& spec : at->second) add_keys(spec, words, found);
  return found;
}

}  // namespace herdlock::redis
