#include "hot/rule_times.hpp"

#include <fmt/format.h>
#include <time.h>

#include <chrono>
#include <herdlock/error.hpp>
#include <optional>

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

// What is left of a text, from its front.
class text_reader {
 public:
  explicit text_reader(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }
  bool skip(std::string_view one_of) {
    if (rest_.empty() || one_of.find(rest_.front()) == one_of.npos) return false;
    taken_ = rest_.front();
    rest_.remove_prefix(1);
    return true;
  }
  char taken() const { return taken_; }

  /// So many digits, up to that value.
  std::optional<int> number(std::size_t digits, int most) {
    if (rest_.size() < digits) return std::nullopt;
    int value = 0;
    for (char const c : rest_.substr(0, digits)) {
      if (c < '0' || c > '9') return std::nullopt;
      value = value * 10 + (c - '0');
    }
    rest_.remove_prefix(digits);
    return value <= most ? std::optional(value) : std::nullopt;
  }

  /// One to three digits behind a point.
  std::optional<milliseconds> fraction() {
    int value = 0;
    int scale = 1000;
    while (scale > 1) {
      auto const digit = number(1, 9);
      if (!digit) break;
      scale /= 10;
      value = value * 10 + *digit;
    }
    return scale < 1000 ? std::optional(milliseconds(value * scale)) : std::nullopt;
  }

 private:
  std::string_view rest_;
  char taken_ = 0;
};

bool read_date(text_reader& text, std::tm& into) {
  auto const year = text.number(4, 9999);
  if (!year || !text.skip("-")) return false;
  auto const month = text.number(2, 12);
  if (!month || !text.skip("-")) return false;
  auto const day = text.number(2, 31);
  if (!day) return false;
  into.tm_year = *year - 1900;
  into.tm_mon = *month - 1;
  into.tm_mday = *day;
  return std::chrono::year_month_day(std::chrono::year(*year),
                                     std::chrono::month(static_cast<unsigned>(*month)),
                                     std::chrono::day(static_cast<unsigned>(*day)))
      .ok();
}

bool read_offset(text_reader& text, typed_time& into) {
  if (text.done()) return true;
  if (text.skip("Zz")) {
    into.east = seconds(0);
    return text.done();
  }
  if (!text.skip("+-")) return false;
  int const sign = text.taken() == '-' ? -1 : 1;
  auto const hours = text.number(2, 23);
  text.skip(":");
  auto const minutes = text.number(2, 59);
  if (!hours || !minutes) return false;
  into.east = seconds(sign * (*hours * 3600 + *minutes * 60));
  return text.done();
}

bool read_clock(text_reader& text, typed_time& into) {
  auto const hour = text.number(2, 23);
  if (!hour || !text.skip(":")) return false;
  auto const minute = text.number(2, 59);
  if (!minute) return false;
  into.fields.tm_hour = *hour;
  into.fields.tm_min = *minute;
  if (!text.skip(":")) return true;
  auto const second = text.number(2, 59);
  if (!second) return false;
  into.fields.tm_sec = *second;
  if (!text.skip(".,")) return true;
  auto const fraction = text.fraction();
  if (!fraction) return false;
  into.fraction = *fraction;
  return true;
}

std::optional<typed_time> typed(std::string const& text) {
  text_reader reader(text);
  typed_time found;
  if (!read_date(reader, found.fields)) return std::nullopt;
  if (reader.done()) return found;
  if (!reader.skip("Tt ") || !read_clock(reader, found)) return std::nullopt;
  return read_offset(reader, found) ? std::optional(found) : std::nullopt;
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
