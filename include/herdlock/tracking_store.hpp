// The port of a store whose servers push what changes, so that a process can keep what it has read.
// For those who write a store. The rules at the top of herdlock/backend.hpp hold here, too.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <herdlock/backend.hpp>

namespace herdlock {
inline namespace v0 {

/// A connection of a store to one of its servers, from when it comes up until it is lost. Never
/// used again by this store.
enum class link_id : std::uint64_t {};

/// The keeper of values that were read over the links of a store. Called on the executor, in the
/// order of the wire: what a server pushed before an answer is told before that answer.
class tracking_listener {
 public:
  virtual ~tracking_listener() = default;

  /// Up, and the server has agreed to push changes. It was asked at that time.
  virtual void on_link_up(link_id which, clock::time_point asked) = 0;
  /// Up, and the server does not push: why, and the way out.
  virtual void on_link_refused(link_id which, clock::time_point asked, failure const& why) = 0;
  virtual void on_link_down(link_id which) = 0;

  /// Somebody may have changed these keys: one push.
  virtual void on_changed(link_id which, std::span<std::string_view const> keys) = 0;
  /// The same of all keys.
  virtual void on_all_changed(link_id which) = 0;

  /// Keys of the slot are read over another link from now on.
  virtual void on_slot_moved(std::uint16_t slot) = 0;
  /// The server is giving keys of a slot away.
  virtual void on_slots_leaving(link_id which) = 0;
};

struct tracked_read {
  cache_key key;
  layout form = layout::string;
  /// Called right before the read is sent, each time: whether the server is to push the next change
  /// of the key over this link.
  std::function<bool(link_id over)> sending;
};

struct tracked_value {
  cache_lookup found;
  /// Over which it was read; after sending() said true for it, with the push agreed. Nothing: it is
  /// not to be kept.
  std::optional<link_id> over;
  std::optional<milliseconds> left;  ///< to the entry; nothing: it does not end
};

/// The evictions of a store's servers, to make room, between two calls of evictions().
struct eviction_news {
  /// How long they keep what looks idle: the shortest time. Nothing where they evict nothing, or do
  /// not tell.
  std::optional<milliseconds> idle_age;
  std::uint64_t evicted = 0;  ///< keys of all kinds
};

/// Reads of values that may be kept in the process, because the server pushes their changes.
class tracking_store {
 public:
  virtual ~tracking_store() = default;

  /// Tells `to` of links from now on, also of those that are up; nothing once it has gone.
  virtual void listen(std::weak_ptr<tracking_listener> to) = 0;
  /// cache_store::get(), and what keeping the value takes. Not cancellable.
  virtual void get(tracked_read request, handler<tracked_value> done) = 0;
  /// The server's answer, behind everything that it pushed before. Not cancellable.
  virtual void ping(link_id over, handler<void> done) = 0;

  /// To be called now and then: asks those servers again that could not say whether they push.
  virtual void ask_again() = 0;

  /// Says that these are in use: what is served in the process looks idle to the server, and an
  /// evicting one takes that first. Completes when all are told, or could not be. Not cancellable.
  virtual void touch(std::vector<cache_key> keys, handler<void> done) = 0;
  /// Not cancellable.
  virtual void evictions(handler<eviction_news> done) = 0;

  using slot_function = std::uint16_t (*)(std::string_view key);
  /// Null where keys do not move between servers. Any thread.
  virtual slot_function slot_of() const = 0;
};

}  // namespace v0
}  // namespace herdlock
