#include "hot/rule_times.hpp"

#include <fmt/chrono.h>

#include <algorithm>

#include "terminal/exit_code.hpp"

namespace herdlock::cli {
namespace {

using std::chrono::seconds;

struct typed_time {
  std::tm fields{};
  std::time_t utc = 0;  // were it of Greenwich
  milliseconds fraction{0};
  std::optional<seconds> east;  // of Greenwich; nothing: this machine's zone
};

// d for each digit; and one letter for what may be written in several.
std::string form_of(std::string text) {
  constexpr std::string_view several = "t z,";
  constexpr std::string_view one = "TTZ.";
  for (char& c : text) {
    if (auto const at = several.find(c); at != several.npos) c = one[at];
    if (c >= '0' && c <= '9') c = 'd';
  }
  return text;
}

// 0 where the text ends before.
int number(std::string const& text, std::size_t at, std::size_t digits) {
  return at < text.size() ? std::stoi(text.substr(at, digits)) : 0;
}

bool same_fields(std::tm const& a, std::tm const& b) {
  return a.tm_min == b.tm_min && a.tm_hour == b.tm_hour && a.tm_mday == b.tm_mday &&
         a.tm_mon == b.tm_mon;
}

std::optional<typed_time> typed(std::string const& text) {
  constexpr std::string_view longest = "dddd-dd-ddTdd:dd:dd.ddd";
  constexpr std::size_t ends[]{10, 16, 19, 21, 22, 23};
  constexpr std::string_view zones[]{"", "Z", "+dddd", "+dd:dd", "-dddd", "-dd:dd"};
  std::string const form = form_of(text);
  auto const zone_at = std::min(form.find_first_of("Z+-", longest.find('T') + 1), form.size());
  bool const is_time = std::ranges::count(ends, zone_at) > 0 &&
                       form.starts_with(longest.substr(0, zone_at)) &&
                       std::ranges::count(zones, form.substr(zone_at)) > 0;
  if (!is_time) return std::nullopt;

  std::string const time = text.substr(0, zone_at);
  std::string const zone = text.substr(zone_at);
  typed_time found;
  std::tm& at = found.fields;
  at.tm_year = number(time, 0, 4) - 1900;
  at.tm_mon = number(time, 5, 2) - 1;
  at.tm_mday = number(time, 8, 2);
  at.tm_hour = number(time, 11, 2);
  at.tm_min = number(time, 14, 2);
  at.tm_sec = number(time, 17, 2);
  found.fraction = milliseconds(number((time + "00").substr(0, longest.size()), 20, 3));
  int const hours = zone.size() > 1 ? number(zone, 1, 2) : 0;
  int const minutes = zone.size() > 1 ? number(zone, zone.size() - 2, 2) : 0;
  int const sign = zone.starts_with('-') ? -1 : 1;
  if (!zone.empty()) found.east = seconds(sign * (hours * 3600 + minutes * 60));
  // A 30th of February comes back as the 2nd of March.
  std::tm back = at;
  found.utc = ::timegm(&back);
  bool const there_is = same_fields(back, at) && hours <= 23 && minutes <= 59;
  return there_is ? std::optional(found) : std::nullopt;
}

struct local_times {
  std::optional<std::time_t> first;
  bool twice = false;
};

// Summer and winter time are both tried: what comes back as it was typed exists.
local_times in_this_zone(std::tm const& fields) {
  local_times found;
  for (int const summer : {-1, 0, 1}) {
    std::tm tried = fields;
    tried.tm_isdst = summer;
    std::time_t const when = ::mktime(&tried);
    std::tm back{};
    if (!::localtime_r(&when, &back) || !same_fields(back, fields)) continue;
    found.twice = found.twice || (found.first && *found.first != when);
    if (!found.first) found.first = when;
  }
  return found;
}

// Of the zone that `broken_down` stands for: ::localtime_r or ::gmtime_r.
std::pair<std::string, std::tm> text_of(hot_rule::time when,
                                        std::tm* (*broken_down)(std::time_t const*, std::tm*)) {
  std::time_t const whole = std::chrono::floor<seconds>(when.time_since_epoch()).count();
  std::tm fields{};
  broken_down(&whole, &fields);
  auto text = fmt::format("{:%Y-%m-%dT%H:%M:%S}", fields);
  auto const ms = std::chrono::floor<milliseconds>(when.time_since_epoch()).count() % 1000;
  if (ms != 0) text += fmt::format(".{:03}", ms);
  return {text, fields};
}

}  // namespace

hot_rule::time time_argument(std::string_view option, std::string const& text) {
  auto const refuse_it = [&](std::string_view why) {
    refuse("{} {}: {}", option, in_quotes(text), why);
  };
  auto const found = typed(text);
  if (!found) {
    refuse_it(
        "is not a time; write it as 2026-12-01T12:00, with Z or +01:00 behind it when it "
        "is not of this machine's zone");
  }
  // Beyond it the clock of a rule has no times.
  int const year = found->fields.tm_year + 1900;
  if (year < 1971 || year > 2261) refuse_it("must be from 1971 to 2261");
  auto const time_at = [&](std::time_t when) {
    return hot_rule::time(seconds(when)) + found->fraction;
  };
  if (found->east) return time_at(found->utc) - *found->east;
  auto const here = in_this_zone(found->fields);
  if (!here.first) {
    refuse_it(
        "does not exist in this machine's zone, where clocks are set forward; say its "
        "offset: +01:00");
  }
  if (here.twice) {
    refuse_it(
        "exists twice in this machine's zone, where clocks are set back; say its offset: "
        "+01:00");
  }
  return time_at(*here.first);
}

std::string local_text(hot_rule::time when) {
  auto const [text, fields] = text_of(when, ::localtime_r);
  auto const minutes = fields.tm_gmtoff / 60;
  auto const size = minutes < 0 ? -minutes : minutes;
  return fmt::format("{}{}{:02}:{:02}", text, minutes < 0 ? '-' : '+', size / 60, size % 60);
}

std::string utc_text(hot_rule::time when) { return text_of(when, ::gmtime_r).first + "Z"; }

}  // namespace herdlock::cli
