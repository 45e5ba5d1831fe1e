#include "stores/zookeeper/settings.hpp"

#include "stores/common/url_options.hpp"

namespace herdlock::zookeeper {
namespace {

constexpr std::uint16_t usual_port = 2181;

using stores::option_kind;

constexpr stores::url_option options[] = {
    {"timeout", option_kind::duration, "5s", "1ms to 1h", "how long a request may take"},
    {"session_timeout", option_kind::duration, "10s", "1s to 10m",
     "the session's time; a third of it is what one renewal proves"},
    {"session_grace", option_kind::duration, "0", "0 to 5m",
     "how long whoever succeeds a holder that did not release waits first"},
    {"names", option_kind::choice, "curator", "curator, kazoo",
     "how our nodes are called, so with whom the lock is shared"},
    {"acl", option_kind::choice, "creator with a user, else open", "open, creator",
     "who may do anything with what we make"},
    {"auth", option_kind::choice, "digest", "digest", "how user:password@ logs in"},
    {"max_pending", option_kind::count, "65536", "from 1",
     "operations under way in a store; one more is overloaded"},
};
constexpr stores::scheme_options schemes[] = {{"zk", {options}}};

std::string servers_of(store_url const& url) {
  std::string text;
  for (auto const& one : stores::hosts_of(url, usual_port)) {
    text += (text.empty() ? "" : ",") + one.text();
  }
  return text;
}

void check_chroot(std::string const& chroot, stores::option_reader& in) {
  if (chroot.empty()) return;
  for (char c : chroot) {
    if (c <= 0x20 || c >= 0x7f) return in.refuse("the chroot may only have printable ASCII");
  }
  std::string const closed = chroot + "/";
  for (char const* never : {"//", "/./", "/../"}) {
    if (closed.find(never) != std::string::npos) {
      in.refuse("the chroot must be a path such as /locks/app");
    }
  }
  if (closed.starts_with("/zookeeper/")) {
    in.refuse("/zookeeper belongs to the server; use another chroot");
  }
}

}  // namespace

result<settings> take_settings(store_url url) {
  stores::option_reader in(url, schemes[0]);
  settings taken;
  taken.display_name = url.redacted();
  if (url.host.empty()) in.refuse("write zk://host:port,host:port/chroot");
  if (url.user.empty() != url.password.empty()) {
    in.refuse("digest needs both, a user and a password");
  }
  taken.servers = servers_of(url);
  if (!url.user.empty()) taken.login = url.user + ":" + url.password;
  taken.chroot = url.path;
  while (taken.chroot.ends_with('/')) taken.chroot.pop_back();
  check_chroot(taken.chroot, in);
  taken.timeout = in.duration("timeout");
  taken.session_timeout = in.duration("session_timeout");
  taken.session_grace = in.duration("session_grace");
  taken.names = in.choice<naming>("names");
  taken.acl = taken.login.empty() ? access::open : access::creator;
  if (in.given("acl")) taken.acl = in.choice<access>("acl");
  if (taken.acl == access::creator && taken.login.empty()) {
    in.refuse("acl=creator needs a user and a password");
  }
  in.chosen("auth");
  taken.max_pending = in.count("max_pending");
  if (failure bad = in.end(); bad.code) return bad;
  return taken;
}

}  // namespace herdlock::zookeeper

std::span<herdlock::stores::scheme_options const> herdlock::stores::zookeeper_options() {
  return zookeeper::schemes;
}
