#include "stores/common/url_options.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace herdlock::stores {
namespace {

std::optional<std::uint64_t> parse_time(std::string_view text) {
  auto const time = parse_duration(text);
  if (!time) return std::nullopt;
  return static_cast<std::uint64_t>(time->count());
}

/// "50ms to 10m", "from 1": the bounds that are values.
template <class Parse>
bool within(std::string_view range, std::uint64_t value, Parse parse) {
  constexpr std::string_view from = "from ", to = " to ";
  if (range.starts_with(from)) range.remove_prefix(from.size());
  auto const middle = range.find(to);
  auto const least = parse(range.substr(0, middle));
  if (least && value < *least) return false;
  if (middle == std::string_view::npos) return true;
  auto const most = parse(range.substr(middle + to.size()));
  return !most || value <= *most;
}

std::vector<std::string_view> choices_of(std::string_view range) {
  std::vector<std::string_view> all;
  for (std::size_t at = 0; at < range.size();) {
    auto const end = std::min(range.find(", ", at), range.size());
    all.push_back(range.substr(at, end - at));
    at = end + 2;
  }
  return all;
}

}  // namespace

std::vector<url_option> scheme_options::all() const {
  std::vector<url_option> found;
  for (auto const& list : lists) found.insert(found.end(), list.begin(), list.end());
  return found;
}

option_reader::option_reader(store_url& url, scheme_options options)
    : url_(url), options_(options.all()), display_name_(url.redacted()) {
  for (auto const& one : options_) url_.known_options.emplace_back(one.name);
}

milliseconds option_reader::duration(std::string_view name, milliseconds fallback) {
  auto const& which = declared(name);
  bool const said = given(name);
  auto const value = parse_time(said ? take(name) : std::string(which.fallback));
  if (said && (!value || !within(which.range, *value, parse_time))) {
    refuse_value(which);
    return fallback;
  }
  return value ? milliseconds(*value) : fallback;
}

std::uint64_t option_reader::number(std::string_view name, std::uint64_t fallback) {
  auto const& which = declared(name);
  bool const said = given(name);
  auto const parse = [](std::string_view digits) { return whole_number<std::uint64_t>(digits); };
  auto const value = parse(said ? take(name) : std::string(which.fallback));
  if (said && (!value || !within(which.range, *value, parse))) refuse_value(which);
  return value.value_or(fallback);
}

std::string option_reader::text(std::string_view name, std::string_view fallback) {
  declared(name);
  return given(name) ? take(name) : std::string(fallback);
}

std::size_t option_reader::chosen(std::string_view name) {
  auto const& which = declared(name);
  auto const all = choices_of(which.range);
  bool const said = given(name);
  auto const found = std::ranges::find(all, said ? take(name) : std::string(which.fallback));
  if (found != all.end()) return static_cast<std::size_t>(found - all.begin());
  if (said) refuse_value(which);
  return 0;
}

void option_reader::refuse(std::string const& why) {
  if (error_.code) return;
  error_ = make_failure(errc::invalid_url, "store URL " + display_name_ + ": " + why);
}

failure option_reader::end() const { return error_.code ? error_ : url_.reject_unknown_options(); }

url_option const& option_reader::declared(std::string_view name) const {
  auto const found = std::ranges::find(options_, name, &url_option::name);
  if (found == options_.end()) throw std::logic_error("an option that is not declared");
  return *found;
}

std::string option_reader::take(std::string_view name) { return url_.take_text(name, ""); }

// The value itself is not shown: what stands there may be anything.
void option_reader::refuse_value(url_option const& which) {
  std::string range(which.range);
  auto const comma = range.rfind(", ");
  if (which.kind == option_kind::choice && comma != range.npos) range.replace(comma, 1, " or");
  bool const span = range.find(" to ") != range.npos;
  refuse("option '" + std::string(which.name) + "' must be " +
         (which.kind == option_kind::count ? "a number " : "") + (span ? "from " : "") + range);
}

std::string server_address::text() const {
  bool const v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::vector<server_address> hosts_of(store_url const& url, std::uint16_t usual_port) {
  std::vector<server_address> all;
  for (auto const& one : url.hosts) all.push_back({one.host, one.port.value_or(usual_port)});
  if (all.empty()) all.push_back({url.host, url.port.value_or(usual_port)});
  return all;
}

}  // namespace herdlock::stores
