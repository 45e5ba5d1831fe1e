#include "stores/zookeeper/settings.hpp"

#include <charconv>

namespace herdlock::zookeeper {
namespace {

constexpr std::uint16_t usual_port = 2181;

failure bad_url(store_url const& url, std::string const& why) {
  return make_failure(errc::invalid_url, "store URL " + url.redacted() + ": " + why);
}

std::string servers_of(store_url const& url) {
  auto all = url.hosts;
  if (all.empty()) all.push_back({url.host, url.port});
  std::string text;
  for (auto const& one : all) {
    if (!text.empty()) text += ",";
    bool const v6 = one.host.find(':') != std::string::npos;
    text += v6 ? "[" + one.host + "]" : one.host;
    text += ":" + std::to_string(one.port.value_or(usual_port));
  }
  return text;
}

failure check_chroot(store_url const& url, std::string const& chroot) {
  if (chroot.empty()) return {};
  for (char c : chroot) {
    if (c <= 0x20 || c >= 0x7f) return bad_url(url, "the chroot may only have printable ASCII");
  }
  std::string const closed = chroot + "/";
  for (char const* never : {"//", "/./", "/../"}) {
    if (closed.find(never) != std::string::npos) {
      return bad_url(url, "the chroot must be a path such as /locks/app");
    }
  }
  if (closed.starts_with("/zookeeper/")) {
    return bad_url(url, "/zookeeper belongs to the server; use another chroot");
  }
  return {};
}

failure take_durations(store_url& url, settings& taken) {
  auto timeout = url.take_duration("timeout", taken.timeout);
  if (!timeout) return timeout.error();
  if (*timeout < milliseconds{1} || *timeout > std::chrono::hours{1}) {
    return bad_url(url, "option 'timeout' must be from 1ms to 1h");
  }
  auto session = url.take_duration("session_timeout", taken.session_timeout);
  if (!session) return session.error();
  if (*session < std::chrono::seconds{1} || *session > std::chrono::minutes{10}) {
    return bad_url(url, "option 'session_timeout' must be from 1s to 10m");
  }
  auto const grace = url.take_duration("session_grace", taken.session_grace);
  if (!grace) return grace.error();
  if (*grace < milliseconds{0} || *grace > std::chrono::minutes{5}) {
    return bad_url(url, "option 'session_grace' must be from 0 to 5m");
  }
  taken.timeout = *timeout;
  taken.session_timeout = *session;
  taken.session_grace = *grace;
  return {};
}

failure take_choices(store_url& url, settings& taken) {
  auto const names = url.take_text("names", "curator");
  if (names != "curator" && names != "kazoo") {
    return bad_url(url, "option 'names' is curator or kazoo");
  }
  taken.names = names == "kazoo" ? naming::kazoo : naming::curator;
  auto const acl = url.take_text("acl", taken.login.empty() ? "open" : "creator");
  if (acl != "open" && acl != "creator") return bad_url(url, "option 'acl' is creator or open");
  taken.acl = acl == "creator" ? access::creator : access::open;
  if (taken.acl == access::creator && taken.login.empty()) {
    return bad_url(url, "acl=creator needs a user and a password");
  }
  if (url.take_text("auth", "digest") != "digest") {
    return bad_url(url, "option 'auth' can only be digest");
  }
  auto const pending = url.take_text("max_pending", std::to_string(taken.max_pending));
  auto const* const last = pending.data() + pending.size();
  auto const [end, ec] = std::from_chars(pending.data(), last, taken.max_pending);
  if (ec != std::errc() || end != last || taken.max_pending == 0) {
    return bad_url(url, "option 'max_pending' is not a number greater than 0");
  }
  return {};
}

}  // namespace

result<settings> take_settings(store_url url) {
  settings taken;
  taken.display_name = url.redacted();
  if (url.host.empty()) return bad_url(url, "write zk://host:port,host:port/chroot");
  if (url.user.empty() != url.password.empty()) {
    return bad_url(url, "digest needs both, a user and a password");
  }
  taken.servers = servers_of(url);
  if (!url.user.empty()) taken.login = url.user + ":" + url.password;
  taken.chroot = url.path;
  while (taken.chroot.ends_with('/')) taken.chroot.pop_back();
  if (failure bad = check_chroot(url, taken.chroot); bad.code) return bad;
  if (failure bad = take_durations(url, taken); bad.code) return bad;
  if (failure bad = take_choices(url, taken); bad.code) return bad;
  if (failure bad = url.reject_unknown_options(); bad.code) return bad;
  return taken;
}

}  // namespace herdlock::zookeeper
