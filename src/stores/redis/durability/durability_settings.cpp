#include "stores/redis/durability/durability_settings.hpp"

#include <algorithm>
#include <charconv>

namespace herdlock::redis {
namespace {

// Beyond it the health check, whose PING waits behind the WAIT, would take the server for dead.
constexpr milliseconds max_wait_timeout{5000};

failure bad(store_url const& url, std::string const& why) {
  return make_failure(errc::invalid_url, "store URL " + url.redacted() + ": " + why);
}

failure take_replicas(durability_settings& into, store_url& url, milliseconds timeout) {
  store_url const whole = url;
  std::string const text = url.take_text("wait_replicas", "0");
  auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), into.replicas);
  bool const fine = ec == std::errc() && end == text.data() + text.size() && into.replicas >= 0;
  if (!fine || into.replicas > max_wait_replicas) {
    return bad(whole, "wait_replicas is a number from 0 to " + std::to_string(max_wait_replicas));
  }
  if (into.replicas == 0 && url.options.contains("wait_timeout")) {
    return bad(whole, "wait_timeout without wait_replicas; give both or none");
  }
  auto const longest = std::min<milliseconds>(timeout / 2, max_wait_timeout);
  auto const wait = url.take_duration("wait_timeout", longest);
  if (wait.has_error()) return wait.error();
  into.wait = *wait;
  // Half: the answer must have come when the command itself is given up, and one round may have to
  // wait for the one before it.
  if (into.wait >= milliseconds{1} && into.wait <= longest) return {};
  return bad(whole, "wait_timeout must be from 1ms to half of the timeout, and at most 5s: here " +
                        std::to_string(longest.count()) + " ms");
}

failure take_quarantine(durability_settings& into, store_url& url) {
  store_url const whole = url;
  std::string const state = url.take_text("quarantine", "off");
  if (state != "on" && state != "off") return bad(whole, "quarantine is on or off");
  if (state == "off" && url.options.contains("quarantine_ttl")) {
    return bad(whole, "quarantine_ttl without quarantine=on; give both or none");
  }
  auto const ttl = url.take_duration("quarantine_ttl", default_quarantine_ttl);
  if (ttl.has_error()) return ttl.error();
  if (auto const why = check_ttl(*ttl); why.code) return bad(whole, why.message);
  if (state == "on") into.quarantine = *ttl;
  return {};
}

}  // namespace

result<durability_settings> take_durability(store_url& url, milliseconds timeout) {
  durability_settings wanted;
  if (auto why = take_replicas(wanted, url, timeout); why.code) return why;
  if (auto why = take_quarantine(wanted, url); why.code) return why;
  return wanted;
}

}  // namespace herdlock::redis
