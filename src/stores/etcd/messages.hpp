// The messages of etcd's v3 API that we use, as its JSON gateway writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <herdlock/error.hpp>
#include <herdlock/types.hpp>
#include "stores/etcd/encoding.hpp"

namespace herdlock::etcd {

/// gRPC's numbers for what went wrong, as far as we tell them apart.
namespace status {
inline constexpr int ok = 0;
inline constexpr int invalid_argument = 3;
inline constexpr int not_found = 5;
inline constexpr int permission_denied = 7;
inline constexpr int resource_exhausted = 8;
inline constexpr int failed_precondition = 9;
inline constexpr int unavailable = 14;
inline constexpr int unauthenticated = 16;
/// The body is not what we understand.
inline constexpr int not_understood = -1;
}  // namespace status

/// A key of a resource: a holder's or a waiter's.
struct key_entry {
  std::string key;
  std::string value;
  std::int64_t create_revision = 0;
  std::int64_t mod_revision = 0;
  std::int64_t lease = 0;
};

struct range_reply {
  std::vector<key_entry> entries;
  std::int64_t count = 0;     ///< also of those beyond the limit
  std::int64_t revision = 0;  ///< only of a range on its own

  key_entry const* first() const { return entries.empty() ? nullptr : &entries.front(); }
};

struct txn_reply {
  bool succeeded = false;
  std::int64_t revision = 0;
  std::vector<range_reply> ranges;  ///< of the branch taken, in its order, writes left out
};

struct lease_reply {
  std::int64_t ttl = 0;          ///< seconds left; none when it is not more than 0
  std::int64_t granted_ttl = 0;  ///< only from lease_time_left
};

/// What a watch tells of a key.
struct key_change {
  std::string key;
  enum class kind { written, deleted } what = kind::written;
};

/// One message of a watch stream.
struct watch_message {
  std::int64_t watch_id = 0;
  std::int64_t revision = 0;  ///< at which it was sent
  std::int64_t compact_revision = 0;
  std::vector<key_change> changes;
  enum class kind { created, events, canceled, progress, failed } what = kind::progress;
};

/// What the server refused, and why; code is one of `status`.
struct refusal {
  int code = status::ok;
  std::string message;
};

namespace path {
inline constexpr char const* authenticate = "/v3/auth/authenticate";
inline constexpr char const* grant = "/v3/lease/grant";
inline constexpr char const* revoke = "/v3/lease/revoke";
inline constexpr char const* keep_alive = "/v3/lease/keepalive";
inline constexpr char const* time_left = "/v3/lease/timetolive";
inline constexpr char const* range = "/v3/kv/range";
inline constexpr char const* txn = "/v3/kv/txn";
inline constexpr char const* watch = "/v3/watch";
inline constexpr char const* status = "/v3/maintenance/status";
}  // namespace path

std::string authenticate_request(std::string const& user, std::string const& password);
std::string grant_request(std::int64_t lease, std::int64_t ttl_seconds);
/// Also of keep_alive and time_left.
std::string lease_request(std::int64_t lease);

/// What a watch is for: the end of one key, or all that is done to the keys from one to another. A
/// change of several keys in one revision is one message of a watch.
struct watched_keys {
  std::string first;
  std::string last{};  ///< empty: `first` alone

  bool is_one() const { return last.empty(); }
  friend bool operator==(watched_keys const&, watched_keys const&) = default;
};
std::string watch_create_request(std::int64_t id, watched_keys const& what);
std::string watch_cancel_request(std::int64_t id);
std::string watch_progress_request();

/// What stands in a queue: who, with which lease, saying what.
struct key_write {
  std::string key;
  std::string value;
  std::int64_t lease = 0;
};

/// Takes the resource if nobody is there. Ranges: none; else own, first.
std::string take_request(std::string const& prefix, key_write const& own);
/// Joins the queue if the key is not in it. Ranges: the last three without values; else own,
/// first.
std::string join_request(std::string const& prefix, key_write const& own);
/// Of the last state that the cluster agreed on, or of that which the asked member has by now.
enum class reading { of_the_cluster, of_the_member };
/// The one created at `mine`, and the last two created before.
std::string look_request(std::string const& prefix, std::int64_t mine, reading way);
/// The first `limit` in the order they came.
std::string list_request(std::string const& prefix, std::size_t limit);
/// The next `limit` keys behind that one, whatever they are, without their values.
std::string keys_request(std::string const& behind, std::size_t limit);
/// Writes the entry anew if it is still the one created at that revision, and was not left to
/// another owner. Ranges: own.
std::string rewrite_request(key_write const& own, std::int64_t create_revision);
/// Writes the entry anew if nobody wrote it since `seen`, and none was created before it.
std::string pass_on_request(std::string const& prefix, key_write const& own, key_entry const& seen);
/// Removes the key if it is still the one created at that revision (0: whatever it is), and was not
/// left to another owner. Ranges: own, and the first before it was removed.
std::string leave_request(std::string const& prefix, std::string const& own,
                          std::int64_t create_revision);
/// Removes the key if nobody wrote it since. Ranges: none; else own.
std::string remove_unchanged_request(std::string const& own, std::int64_t mod_revision);
/// Removes the key if it is still the one created at that revision.
std::string remove_created_request(std::string const& own, std::int64_t create_revision);

/// What the body of an answer says is wrong; status::ok when nothing is. `http_status` decides
/// where the body says nothing.
refusal refusal_in(int http_status, std::string const& body);

// Nothing: not understood.
std::optional<std::string> token_in(std::string const& body);
std::optional<lease_reply> lease_in(std::string const& body);
std::optional<range_reply> range_in(std::string const& body);
std::optional<txn_reply> txn_in(std::string const& body);
std::optional<watch_message> watch_in(std::string const& line);

/// A kind of exchange: where its request goes, and how its answer is read.
template <class Reply>
struct exchange_kind {
  char const* path;
  std::optional<Reply> (*read)(std::string const& body);
};
namespace exchange {
inline constexpr exchange_kind<lease_reply> grant{path::grant, lease_in};
inline constexpr exchange_kind<lease_reply> keep_alive{path::keep_alive, lease_in};
inline constexpr exchange_kind<lease_reply> time_left{path::time_left, lease_in};
inline constexpr exchange_kind<range_reply> range{path::range, range_in};
inline constexpr exchange_kind<txn_reply> txn{path::txn, txn_in};
}  // namespace exchange

}  // namespace herdlock::etcd
