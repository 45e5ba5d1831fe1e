// A lease that its holder has left at the store (lease::leave) has another owner there: a token
// that nobody keeps, so that nothing of the holder's that comes late touches it. The label says
// whose it was and, of a lease that was left as done, for how long it was left: from that, and from
// what remains by the store's clock, follows how long ago it was.
//
//   as held:  LABEL:SECRET
//   as done:  herdlock-done:MILLISECONDS:LABEL:SECRET
//
// Older versions show the whole label; to other clients it is an owner as any.
// Why: docs/decisions/lease.md#a-left-lease-has-another-owner
#pragma once

#include <algorithm>
#include <charconv>
#include <herdlock/backend.hpp>
#include <herdlock/lease.hpp>
#include <string>

namespace herdlock::runtime {

inline constexpr std::string_view done_prefix = "herdlock-done:";

/// The token that stands for the holder's in a lease that is left for so long.
inline owner_token left_token(owner_token const& holder, left_as how, milliseconds left) {
  constexpr std::size_t secret_size = 33;  // with the colon in front of it
  std::string const fresh = owner_token::generate().str();
  std::string label = holder.str().substr(0, holder.str().size() - secret_size);
  std::string text;
  if (how == left_as::done) {
    text.append(done_prefix).append(std::to_string(left.count())) += ':';
  }
  // The end of a label is the process.
  auto const room = limits::max_owner_bytes - secret_size - text.size();
  if (label.size() > room) label.erase(0, label.size() - room);
  text.append(label).append(fresh, fresh.size() - secret_size);
  return owner_token::parse(text).value();
}

/// Tells of a done lease's holder and time what its label says.
inline void read_left_label(lease_info& seen) {
  std::string_view rest = seen.holder;
  if (!rest.starts_with(done_prefix)) return;
  rest.remove_prefix(done_prefix.size());
  milliseconds::rep left = 0;
  auto const [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), left);
  if (code != std::errc{} || end == rest.data() + rest.size() || *end != ':') return;
  seen.done = std::max(milliseconds{left} - seen.remaining, milliseconds{0});
  seen.holder = std::string(end + 1, rest.data() + rest.size());
}

}  // namespace herdlock::runtime
