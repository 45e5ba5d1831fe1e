#include "hot/rule_times.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <herdlock/error.hpp>
#include <optional>
#include <string_view>

#include "terminal/exit_code.hpp"

namespace herdlock::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Beyond it the clock of a rule has no times.
constexpr int last_year = 2261;

struct typed_time {
  std::tm fields{};
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

bool is_zone(std::string const& form) {
  if (form.empty() || form == "Z") return true;
  return form[0] != 'Z' && (form.substr(1) == "dddd" || form.substr(1) == "dd:dd");
}

std::optional<typed_time> typed(std::string const& text) {
  constexpr std::string_view longest = "dddd-dd-ddTdd:dd:dd.ddd";
  constexpr std::array<std::size_t, 6> ends{10, 16, 19, 21, 22, 23};
  std::string const form = form_of(text);
  auto const zone_at = std::min(form.find_first_of("Z+-", longest.find('T') + 1), form.size());
  bool const ends_well = std::find(ends.begin(), ends.end(), zone_at) != ends.end();
  if (!ends_well || form.substr(0, zone_at) != longest.substr(0, zone_at)) return std::nullopt;
  std::string const time = text.substr(0, zone_at);
  std::string const zone = text.substr(zone_at);
  if (!is_zone(form.substr(zone_at))) return std::nullopt;

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
  std::chrono::year_month_day const day{std::chrono::year(at.tm_year + 1900),
                                        std::chrono::month(static_cast<unsigned>(at.tm_mon + 1)),
                                        std::chrono::day(static_cast<unsigned>(at.tm_mday))};
  bool const there_is = day.ok() && at.tm_hour <= 23 && at.tm_min <= 59 && at.tm_sec <= 59 &&
                        hours <= 23 && minutes <= 59;
  return there_is ? std::optional(found) : std::nullopt;
}

bool same_fields(std::tm const& a, std::tm const& b) {
  return a.tm_min == b.tm_min && a.tm_hour == b.tm_hour && a.tm_mday == b.tm_mday &&
         a.tm_mon == b.tm_mon;
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

hot_rule::time from_seconds(std::time_t when, milliseconds fraction) {
  return hot_rule::time(seconds(when)) + fraction;
}

std::string text_of(hot_rule::time when, std::tm const& fields) {
  auto const ms = std::chrono::floor<milliseconds>(when.time_since_epoch()).count() % 1000;
  auto text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", fields.tm_year + 1900, fields.tm_mon + 1,
                  fields.tm_mday, fields.tm_hour, fields.tm_min, fields.tm_sec);
  if (ms != 0) text += fmt::format(".{:03}", ms);
  return text;
}

std::time_t whole_seconds(hot_rule::time when) {
  return std::chrono::floor<seconds>(when.time_since_epoch()).count();
}

}  // namespace

hot_rule::time time_argument(std::string_view option, std::string const& text) {
  auto const refuse = [&](std::string_view why) {
    return command_error(exit_code::usage, fmt::format("{} {}: {}", option, in_quotes(text), why));
  };
  auto const found = typed(text);
  if (!found) {
    throw refuse(
        "is not a time; write it as 2026-12-01T12:00, with Z or +01:00 behind it when it "
        "is not of this machine's zone");
  }
  int const year = found->fields.tm_year + 1900;
  if (year < 1971 || year > last_year) {
    throw refuse(fmt::format("must be from 1971 to {}", last_year));
  }
  if (found->east) {
    std::tm fields = found->fields;
    return from_seconds(::timegm(&fields), found->fraction) - *found->east;
  }
  auto const here = in_this_zone(found->fields);
  if (!here.first) {
    throw refuse(
        "does not exist in this machine's zone, where clocks are set forward; say its "
        "offset: +01:00");
  }
  if (here.twice) {
    throw refuse(
        "exists twice in this machine's zone, where clocks are set back; say its offset: "
        "+01:00");
  }
  return from_seconds(*here.first, found->fraction);
}

std::string local_text(hot_rule::time when) {
  std::time_t const seconds_of = whole_seconds(when);
  std::tm fields{};
  ::localtime_r(&seconds_of, &fields);
  auto const minutes = fields.tm_gmtoff / 60;
  auto const size = minutes < 0 ? -minutes : minutes;
  return text_of(when, fields) +
         fmt::format("{}{:02}:{:02}", minutes < 0 ? '-' : '+', size / 60, size % 60);
}

std::string utc_text(hot_rule::time when) {
  std::time_t const seconds_of = whole_seconds(when);
  std::tm fields{};
  ::gmtime_r(&seconds_of, &fields);
  return text_of(when, fields) + "Z";
}

}  // namespace herdlock::cli
