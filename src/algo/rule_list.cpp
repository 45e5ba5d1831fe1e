#include "algo/rule_list.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace herdlock::algo {
namespace {

constexpr std::string_view first_words = "herdlock hot keys 1 ";
constexpr std::array<std::string_view, 3> what_words{"pin", "deny", "keep"};
constexpr std::array<std::string_view, 2> match_words{"exact", "prefix"};
constexpr char hex_digits[] = "0123456789ABCDEF";

bool is_plain(char c) { return c > ' ' && c < 0x7f && c != '%'; }

std::string escaped(std::string_view key) {
  std::string text;
  for (char const c : key) {
    if (is_plain(c)) {
      text += c;
      continue;
    }
    auto const byte = static_cast<unsigned char>(c);
    text += {'%', hex_digits[byte >> 4], hex_digits[byte & 15]};
  }
  return text;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string key;
  while (!text.empty()) {
    if (text.front() != '%') {
      if (!is_plain(text.front())) return std::nullopt;
      key += text.front();
      text.remove_prefix(1);
      continue;
    }
    unsigned byte = 0;
    if (text.size() < 3) return std::nullopt;
    auto const [end, why] = std::from_chars(text.data() + 1, text.data() + 3, byte, 16);
    if (why != std::errc() || end != text.data() + 3) return std::nullopt;
    key += static_cast<char>(byte);
    text.remove_prefix(3);
  }
  return key;
}

// Up to the mark, or the end; takes both off.
std::string_view take_until(std::string_view& rest, char mark) {
  auto const at = rest.find(mark);
  auto const taken = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return taken;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  auto const [end, why] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (why != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class Enum, std::size_t N>
std::optional<Enum> word_of(std::array<std::string_view, N> const& words, std::string_view text) {
  auto const at = std::find(words.begin(), words.end(), text);
  if (at == words.end()) return std::nullopt;
  return static_cast<Enum>(at - words.begin());
}

// Within the bound of decode_list().
std::optional<hot_rule::time> time_from(std::uint64_t ms) {
  if (ms == 0) return std::nullopt;
  return hot_rule::time(milliseconds(static_cast<milliseconds::rep>(ms)));
}

bool is_for(hot_rule const& one, std::string_view key) {
  return one.by == hot_rule::match::exact ? key == one.key : key.starts_with(one.key);
}

std::optional<hot_rule> rule_of(std::string_view line) {
  auto const does = word_of<hot_rule::action>(what_words, take_until(line, ' '));
  auto const by = word_of<hot_rule::match>(match_words, take_until(line, ' '));
  auto const from = number_of(take_until(line, ' '));
  auto const until = number_of(take_until(line, ' '));
  bool const keeps = does == hot_rule::action::keep;
  auto const bound = keeps ? number_of(take_until(line, ' ')) : std::uint64_t{0};
  auto key = unescaped(line);
  if (!does || !by || !from || !until || !bound || !key) return std::nullopt;
  if (key->size() > rule_list::most_key_bytes) return std::nullopt;
  if (key->empty() && *by == hot_rule::match::exact) return std::nullopt;
  if (std::max({*from, *until, *bound}) > rule_list::latest_ms) return std::nullopt;
  hot_rule made{*does, *by, *std::move(key), time_from(*from), time_from(*until)};
  if (!keeps) return made;
  made.keep_at_most = milliseconds(static_cast<milliseconds::rep>(*bound));
  bool const fits =
      made.keep_at_most >= hot_rule::least_keep && made.keep_at_most <= hot_rule::most_keep;
  return fits ? std::optional(std::move(made)) : std::nullopt;
}

}  // namespace

std::uint64_t in_ms(std::optional<hot_rule::time> const& when) {
  if (!when) return 0;
  auto const since_1970 = std::chrono::floor<milliseconds>(when->time_since_epoch());
  return static_cast<std::uint64_t>(since_1970.count());
}

bool holds(hot_rule const& one, std::uint64_t now_ms) {
  return now_ms >= in_ms(one.from) && (!one.until || now_ms < in_ms(one.until));
}

std::string encode(rule_list const& list) {
  std::string text(first_words);
  text += std::to_string(list.version) + "\n";
  for (hot_rule const& one : list.rules) {
    text += what_words.at(static_cast<std::size_t>(one.does));
    text += ' ';
    text += match_words.at(static_cast<std::size_t>(one.by));
    text += ' ' + std::to_string(in_ms(one.from)) + ' ' + std::to_string(in_ms(one.until)) + ' ';
    if (one.does == hot_rule::action::keep) text += std::to_string(one.keep_at_most.count()) + ' ';
    text += escaped(one.key) + '\n';
  }
  return text;
}

std::optional<rule_list> decode_list(std::string_view text) {
  if (!text.starts_with(first_words) || !text.ends_with('\n')) return std::nullopt;
  text.remove_prefix(first_words.size());
  auto const version = number_of(take_until(text, '\n'));
  if (!version) return std::nullopt;
  rule_list list{*version, {}};
  while (!text.empty()) {
    auto rule = rule_of(take_until(text, '\n'));
    if (!rule || list.rules.size() >= rule_list::most_rules) return std::nullopt;
    list.rules.push_back(*std::move(rule));
  }
  return list;
}

bool rule_list_reader::take(rule_list list) {
  if (list.version <= list_.version) return false;
  set(std::move(list));
  return true;
}

bool rule_list_reader::take_found(rule_list list, std::uint64_t known) {
  bool const is_older = list.version < list_.version;
  if (list.version == list_.version || (is_older && list_.version != known)) return false;
  set(std::move(list));
  return true;
}

void rule_list_reader::set(rule_list list) {
  exact_.clear();
  prefixes_.clear();
  list_ = std::move(list);
  for (hot_rule const& one : list_.rules) {
    if (one.by == hot_rule::match::prefix) {
      prefixes_.push_back({&one, none});
    } else {
      exact_[one.key].push_back(&one);
    }
  }
  sort_prefixes();
}

void rule_list_reader::sort_prefixes() {
  std::stable_sort(prefixes_.begin(), prefixes_.end(),
                   [](prefix const& a, prefix const& b) { return a.rule->key < b.rule->key; });
  for (std::size_t i = 1; i < prefixes_.size(); ++i) {
    std::size_t at = i - 1;
    while (at != none && !is_for(*prefixes_[at].rule, prefixes_[i].rule->key)) {
      at = prefixes_[at].shorter;
    }
    prefixes_[i].shorter = at;
  }
}

hot_verdict rule_list_reader::of(std::string_view key, std::uint64_t now_ms) const {
  hot_verdict said;
  auto const heed = [&](hot_rule const& one) {
    if (!holds(one, now_ms)) return;
    said.pinned = said.pinned || one.does == hot_rule::action::pin;
    said.denied = said.denied || one.does == hot_rule::action::deny;
    if (one.does == hot_rule::action::keep) {
      said.keep_at_most = std::max(said.keep_at_most, one.keep_at_most);
    }
  };
  if (auto const at = exact_.find(key); at != exact_.end()) {
    for (auto const* const one : at->second) heed(*one);
  }
  // The longest one that the key begins with lies on the way down from the last one that is not
  // behind the key: what is sorted in between begins with it, too.
  auto const behind = std::upper_bound(
      prefixes_.begin(), prefixes_.end(), key,
      [](std::string_view text, prefix const& one) { return text < one.rule->key; });
  auto at = behind == prefixes_.begin() ? none : std::size_t(behind - prefixes_.begin()) - 1;
  for (; at != none; at = prefixes_[at].shorter) {
    if (is_for(*prefixes_[at].rule, key)) heed(*prefixes_[at].rule);
  }
  if (said.denied) return {.denied = true};
  return said;
}

std::vector<hot_rule> rule_list_reader::pins(std::uint64_t now_ms) const {
  std::vector<hot_rule> found;
  for (hot_rule const& one : list_.rules) {
    bool const is_over = one.until && in_ms(one.until) <= now_ms;
    bool const is_one_key = one.by == hot_rule::match::exact;
    if (one.does == hot_rule::action::pin && is_one_key && !is_over) found.push_back(one);
  }
  return found;
}

std::optional<std::uint64_t> rule_list_reader::next_change(std::uint64_t now_ms) const {
  std::optional<std::uint64_t> next;
  for (hot_rule const& one : list_.rules) {
    for (auto const time : {in_ms(one.from), in_ms(one.until)}) {
      if (time > now_ms) next = std::min(time, next.value_or(time));
    }
  }
  return next;
}

}  // namespace herdlock::algo
