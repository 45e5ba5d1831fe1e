#include "stores/redis/settings.hpp"

#include <algorithm>

#include "stores/common/tls_source.hpp"
#include "stores/redis/redlock/redlock_settings.hpp"

namespace herdlock::redis {
namespace {

constexpr int max_database = 1'000'000;
constexpr std::size_t max_prefix_bytes = limits::max_name_bytes;

using stores::option_kind;

constexpr stores::url_option common_options[] = {
    {"timeout", option_kind::duration, "2s", "50ms to 10m",
     "how long a command may take, connecting included"},
};
constexpr stores::url_option dialect_options[] = {
    {"dialect", option_kind::choice, "herdlock", "herdlock, plain, getset", "whose lock it is"},
    {"prefix", option_kind::text, "", "at most 512 bytes",
     "stands in front of each key; not with herdlock, where it belongs into the names"},
    {"skew", option_kind::duration, "1s", "0 to 1m",
     "how far the clients' wall clocks may differ; getset only"},
};
constexpr stores::url_option unix_options[] = {
    {"user", option_kind::text, "", "text", "where the URL has no place for it"},
    {"password", option_kind::text, "", "text", "likewise"},
    {"db", option_kind::count, "0", "0 to 1000000", "the database; elsewhere it is the path"},
};
constexpr stores::url_option sentinel_options[] = {
    {"sentinel_user", option_kind::text, "", "text",
     "the sentinels' own account, if they have one; needs sentinel_password"},
    {"sentinel_password", option_kind::text, "", "text",
     "its password, or that of sentinels without users"},
};

constexpr stores::scheme_options schemes[] = {
    {"redis", {common_options, durability_options, dialect_options}},
    {"rediss", {common_options, durability_options, dialect_options, stores::tls_options}},
    {"redis+unix", {common_options, durability_options, dialect_options, unix_options}},
    {"redis+sentinel", {common_options, durability_options, dialect_options, sentinel_options}},
    {"rediss+sentinel",
     {common_options, durability_options, dialect_options, sentinel_options, stores::tls_options}},
    {"redis+cluster", {common_options}},
    {"rediss+cluster", {common_options, stores::tls_options}},
    {"redlock", {redlock_options, common_options, stores::tls_options}},
};

// A cluster's are read as those of one server: what it cannot give is refused with its reason.
stores::scheme_options const& options_of(std::string_view scheme) {
  if (scheme.ends_with("+cluster")) scheme.remove_suffix(std::string_view("+cluster").size());
  return *std::ranges::find(schemes, scheme, &stores::scheme_options::scheme);
}

void take_database(settings& s, stores::option_reader& in, std::string_view text) {
  if (text.empty()) return;
  s.database = whole_number<int>(text).value_or(-1);
  if (s.database >= 0 && s.database <= max_database) return;
  in.refuse(in_quotes(text) + " is not a database number; write one such as 0 or 3");
}

// `//host:port,host:port/mymaster[/db]`
void take_sentinels(settings& s, stores::option_reader& in, store_url const& url) {
  s.sentinels = stores::hosts_of(url, 26379);
  s.sentinel_user = in.text("sentinel_user");
  s.sentinel_password = in.text("sentinel_password");
  std::string_view path = url.path;
  if (path.starts_with('/')) path.remove_prefix(1);
  auto const slash = path.find('/');
  s.master_name = path.substr(0, slash);
  if (url.host.empty() || s.master_name.empty()) {
    in.refuse("write the sentinels and the name of their master: " + url.scheme +
              "://host:26379,host:26379/mymaster");
  }
  if (!s.sentinel_user.empty() && s.sentinel_password.empty()) {
    in.refuse("there is a sentinel_user without a sentinel_password");
  }
  s.host = s.sentinels.front().host;  // until they have told
  s.port = s.sentinels.front().port;
  take_database(s, in, slash == path.npos ? "" : path.substr(slash + 1));
}

void take_unix_path(settings& s, stores::option_reader& in, store_url const& url) {
  s.unix_path = url.path;
  std::string const user = in.text("user");
  std::string const password = in.text("password");
  if (s.user.empty()) s.user = user;
  if (s.password.empty()) s.password = password;
  if (s.unix_path.empty() || s.unix_path.front() != '/' || !url.host.empty()) {
    in.refuse("write the absolute path of the socket: redis+unix:/path/of/redis.sock");
  }
  take_database(s, in, in.text("db"));
}

void take_address(settings& s, stores::option_reader& in, store_url const& url) {
  if (url.scheme.ends_with("+sentinel")) return take_sentinels(s, in, url);
  if (url.scheme == "redis+unix") return take_unix_path(s, in, url);
  s.host = url.host;
  s.port = url.port.value_or(6379);
  if (s.host.empty()) in.refuse("there is no host; write " + url.scheme + "://host:port");
  std::string_view path = url.path;
  if (path.starts_with('/')) path.remove_prefix(1);
  take_database(s, in, path);
}

void take_dialect(settings& s, stores::option_reader& in) {
  s.speaks = in.choice<dialect>("dialect");
  // Our own side keys and channels take their names from the key as it is, so a prefix there would
  // only be a longer name.
  if (in.given("prefix") && s.speaks == dialect::herdlock) {
    in.refuse("a prefix needs dialect=plain or dialect=getset; else write it in the names");
  }
  if (in.given("skew") && s.speaks != dialect::getset) {
    in.refuse("a skew needs dialect=getset: no other dialect compares clients' clocks");
  }
  s.prefix = in.text("prefix");
  if (s.prefix.size() > max_prefix_bytes) {
    in.refuse("the prefix is longer than " + std::to_string(max_prefix_bytes) + " bytes");
  }
  s.skew = in.duration("skew");
}

// Beyond it the health check, whose PING waits behind the WAIT, would take the server for dead.
constexpr milliseconds max_wait_timeout{5000};

void take_replicas(durability_settings& into, stores::option_reader& in, milliseconds timeout) {
  into.replicas = in.count<int>("wait_replicas");
  if (into.replicas == 0 && in.given("wait_timeout")) {
    in.refuse("wait_timeout without wait_replicas; give both or none");
  }
  auto const longest = std::min<milliseconds>(timeout / 2, max_wait_timeout);
  into.wait = in.duration("wait_timeout", longest);
  // Half: the answer must have come when the command itself is given up, and one round may have to
  // wait for the one before it.
  if (into.wait > longest) {
    in.refuse("wait_timeout must be from 1ms to half of the timeout, and at most 5s: here " +
              in_ms(longest));
  }
}

durability_settings take_durability(stores::option_reader& in, milliseconds timeout) {
  durability_settings wanted;
  take_replicas(wanted, in, timeout);
  bool const quarantine = in.chosen("quarantine") == 1;
  if (!quarantine && in.given("quarantine_ttl")) {
    in.refuse("quarantine_ttl without quarantine=on; give both or none");
  }
  auto const ttl = in.duration("quarantine_ttl");
  if (quarantine) wanted.quarantine = ttl;
  return wanted;
}

}  // namespace

settings settings::at(stores::server_address const& where) const {
  settings one = *this;
  one.host = where.host;
  one.port = where.port;
  return one;
}

std::string settings::address() const {
  if (!unix_path.empty()) return unix_path;
  return stores::server_address{host, port}.text();
}

failure settings::failed(errc code, std::string const& why) const {
  return make_failure(code, display_name + ": " + why);
}

failure cannot(std::string_view verb, std::string_view name, failure const& why) {
  return {why.code, "cannot " + std::string(verb) + " " + in_quotes(name) + " at " + why.message};
}

failure refuse_single_server_options(settings const& how) {
  if (!how.durable.on() && how.speaks == dialect::herdlock) return {};
  return make_failure(errc::invalid_url,
                      "store URL " + how.display_name +
                          ": wait_replicas, quarantine and dialect are for a single server or "
                          "Sentinel; leave them out");
}

result<settings> parse_settings(store_url url) {
  stores::option_reader in(url, options_of(url.scheme));
  settings s;
  s.display_name = url.redacted();
  s.user = url.user;
  s.password = url.password;
  take_address(s, in, url);
  if (url.scheme.starts_with("rediss")) s.tls = stores::take_tls(in);
  take_dialect(s, in);
  s.timeout = in.duration("timeout");
  s.durable = take_durability(in, s.timeout);
  // A user without a password is a mistake that would connect as somebody else.
  if (!s.user.empty() && s.password.empty()) {
    in.refuse("there is a user without a password; write user:password@");
  }
  if (auto why = in.end(); why.code) return why;
  if (s.tls.security == stores::encryption::none) return s;
  // A file that cannot be used is told of before anything is opened.
  auto source = stores::tls_source::open(s.tls, s.display_name);
  if (!source) return source.error();
  s.tls.source = std::move(*source);
  return s;
}

}  // namespace herdlock::redis

std::span<herdlock::stores::scheme_options const> herdlock::stores::redis_options() {
  return redis::schemes;
}
