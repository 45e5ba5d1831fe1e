#include "stores/sqlite/settings.hpp"

#include "stores/common/url_options.hpp"

namespace herdlock::sqlite {
namespace {

using stores::option_kind;

// An empty file of ours has a third of the least max_bytes.
constexpr stores::url_option options[] = {
    {"timeout", option_kind::duration, "5s", "1ms to 1h",
     "how long a command may take, waiting for other processes included"},
    {"max_pending", option_kind::count, "65536", "from 1",
     "commands under way in a store; one more is overloaded"},
    {"max_bytes", option_kind::count, "4294967296", "from 131072",
     "how large the file may become; a write that finds no room is unavailable"},
    {"network", option_kind::choice, "refuse", "refuse, allow",
     "allow: also on a network file system, which no other machine uses"},
};
constexpr stores::scheme_options schemes[] = {{"sqlite", {options}}};

}  // namespace

result<settings> take_settings(store_url& url) {
  stores::option_reader in(url, schemes[0]);
  if (!url.host.empty() || !url.user.empty() || !url.password.empty()) {
    in.refuse("write sqlite:PATH or sqlite:///PATH");
  }
  if (url.path.empty()) in.refuse("the path of the file is missing");
  if (url.path == ":memory:") in.refuse("for a store in memory write memory:");
  settings taken;
  taken.file.path = url.path;
  taken.file.timeout = in.duration("timeout");
  taken.max_pending = in.count("max_pending");
  taken.file.max_bytes = in.count<std::uint64_t>("max_bytes");
  taken.file.network = in.choice<network_policy>("network");
  if (failure bad = in.end(); bad.code) return bad;
  return taken;
}

}  // namespace herdlock::sqlite

std::span<herdlock::stores::scheme_options const> herdlock::stores::sqlite_options() {
  return sqlite::schemes;
}
