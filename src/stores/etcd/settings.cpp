#include "stores/etcd/settings.hpp"

#include "stores/common/tls_source.hpp"

namespace herdlock::etcd {
namespace {

constexpr std::size_t max_members = 16;
constexpr std::uint16_t default_port = 2379;

using stores::option_kind;

constexpr stores::url_option options[] = {
    {"timeout", option_kind::duration, "5s", "50ms to 10m",
     "how long an operation may take, at all members together"},
    {"connections", option_kind::count, "16", "1 to 256",
     "for exchanges; the watches share one more"},
    {"max_pending", option_kind::count, "65536", "1 to 1000000",
     "operations under way in a store; one more is overloaded"},
};
constexpr stores::scheme_options schemes[] = {
    {"etcd", {options}},
    {"etcds", {options, stores::tls_options}},
};

void take_members(settings& s, stores::option_reader& in, store_url const& url) {
  s.members = stores::hosts_of(url, default_port);
  for (auto const& one : s.members) {
    if (one.host.empty()) {
      in.refuse("a host is missing; write " + url.scheme + "://host:2379,host:2379");
    }
  }
  if (s.members.size() > max_members) {
    in.refuse("more than " + std::to_string(max_members) + " members; name some of them");
  }
  if (!url.path.empty() && url.path != "/") {
    in.refuse("etcd has no databases; leave the path out and write it in the names");
  }
}

}  // namespace

result<settings> parse_settings(store_url url) {
  bool const tls = url.scheme == "etcds";
  stores::option_reader in(url, schemes[tls ? 1 : 0]);
  settings s;
  s.display_name = url.redacted();
  s.user = url.user;
  s.password = url.password;
  take_members(s, in, url);
  if (tls) s.tls = stores::take_tls(in);
  s.timeout = in.duration("timeout");
  s.connections = in.count("connections");
  s.max_pending = in.count("max_pending");
  if (s.user.empty() != s.password.empty()) {
    in.refuse("a user and a password go together; write user:password@");
  }
  if (auto why = in.end(); why.code) return why;
  if (!tls) return s;
  auto source = stores::tls_source::open(s.tls, s.display_name);
  if (!source) return source.error();
  s.tls.source = std::move(*source);
  return s;
}

}  // namespace herdlock::etcd

std::span<herdlock::stores::scheme_options const> herdlock::stores::etcd_options() {
  return etcd::schemes;
}
