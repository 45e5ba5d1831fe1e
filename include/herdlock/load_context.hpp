// The load that a loader is called for, and what the loader decides of its entry.
//
//     cache.get_or_load("42", [&](herdlock::load_context_of<page>& load) -> std::optional<page> {
//       page const* const old = load.old_value();
//       auto reply = origin.get(load.key().str(), old ? old->etag : "");
//       if (reply.status == 304) return load.not_modified();
//       load.set_ttl(reply.max_age);
//       return page{reply.body, reply.etag};
//     });
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <herdlock/error.hpp>
#include <herdlock/types.hpp>

namespace herdlock {
inline namespace v0 {
namespace detail {

enum class entry_kind { miss, absent, value };

/// A decoded entry: a `T` behind the pointer when it is a value. All who asked share it; `sole`
/// says that only one did, who may move from it.
struct cache_answer {
  entry_kind kind = entry_kind::miss;
  std::shared_ptr<void> object = nullptr;
  bool sole = false;
};

/// The decisions of a loader, for when it has ended.
struct load_decisions {
  std::optional<milliseconds> ttl = std::nullopt;
  bool is_stored = true;
  bool is_modified = true;
  std::vector<std::string> tags = {};  ///< each once
};

/// The part of a load that all copies of its context share.
struct load_state {
  cache_answer replaced = {};  ///< a miss where no entry is to be replaced
  bool takes_tags = false;     ///< its entry is a framed one
  load_decisions decided = {};
};

/// Checks a ttl that a loader sets.
failure check_set_ttl(cache_key const& key, milliseconds ttl);
/// Checks one more tag that a loader names.
failure check_added_tag(cache_key const& key, load_state const& of, std::string_view tag);
failure nothing_to_keep(cache_key const& key);

}  // namespace detail

/// The load that a loader is called for: each loader is given one. Copies are of the same load, and
/// share what is decided.
///
/// Decisions of a loader hold for the entry that this run of it brings, if it ends with a value
/// or with "no such thing"; after an exception, or behind its end, they are nothing. One thread at
/// a time. They are open to a loader that takes a load_context& (or a copy), not to one that takes
/// a load_context const&.
class load_context {
 public:
  load_context(cache_key key, fencing_token fencing, std::stop_token stop,
               detail::load_state of = {})
      : key_(std::move(key)),
        fencing_(fencing),
        stop_(std::move(stop)),
        state_(std::make_shared<detail::load_state>(std::move(of))) {}

  /// The key as the caller gave it, without the prefix.
  cache_key const& key() const noexcept { return key_; }
  /// The token of the claim; 0 in a load without the store. It grows with each load, but for what
  /// docs/guarantees.md says of clocks that are set back ("The fencing token of a load").
  fencing_token fencing() const noexcept { return fencing_; }
  /// Triggered when the loader is asked to end: its claim was lost (by a put, invalidate
  /// or expire, by the end of a tag, by max_load_time, or by the store), the cache closes, or the
  /// call that brought it is over and nobody else in this process waits. A value that it comes to
  /// all the same is stored if the claim is still held; an exception is nobody's error then. A
  /// coroutine is cancelled besides, by its cancellation slot (cancellation_type::terminal).
  /// Triggered on the store's executor.
  std::stop_token const& stop() const noexcept { return stop_; }

  /// How long the entry of this load is fresh, in place of cache_options::ttl or negative_ttl: from
  /// limits::min_ttl to limits::max_ttl, else it throws herdlock::error with errc::invalid_ttl. It
  /// is never kept for longer: ttl_jitter only shortens it. freshness_options::grace comes behind
  /// it as ever. An entry of a lasting cache ends with it; with lasting_options::refresh_every it
  /// stays, and is loaded anew after that time. The last word counts.
  void set_ttl(milliseconds ttl) {
    if (failure why = detail::check_set_ttl(key_, ttl); why.code) throw error(std::move(why));
    state_->decided.ttl = ttl;
  }

  /// The value that the loader comes to answers those who wait for it, and is not stored. As any
  /// value that cannot be, it answers those who come to this process in the next error_back_off,
  /// too; and an entry that it was to replace is removed.
  void do_not_store() noexcept { state_->decided.is_stored = false; }

  /// The entry of this load has the tag, beside those of tag_options::of: for what is known of it
  /// only by its value. Throws herdlock::error: errc::not_supported for plain entries,
  /// invalid_name, invalid_value beyond limits::max_tags; tags that cannot be had together are the
  /// error of the load. A value that is not modified keeps the tags that it had.
  ///
  /// The entry is stored if this process knew the tag's record when the loader began: a tag that
  /// ended while the loader ran would go unseen else. So the first value with a tag that is new
  /// here answers as one that is not stored, and the next one is.
  void add_tag(std::string_view tag) {
    failure why = detail::check_added_tag(key_, *state_, tag);
    if (why.code) throw error(std::move(why));
    auto& all = state_->decided.tags;
    if (std::find(all.begin(), all.end(), tag) == all.end()) all.emplace_back(tag);
  }

  /// For the cache.
  std::shared_ptr<detail::load_state> const& state() const noexcept { return state_; }

 private:
  cache_key key_;
  fencing_token fencing_;
  std::stop_token stop_;
  std::shared_ptr<detail::load_state> state_;
};

/// The context of a load of a cache<T>. A loader may take it in place of a load_context.
template <class T>
class load_context_of : public load_context {
 public:
  explicit load_context_of(load_context const& of) : load_context(of) {}

  /// The value that this load is to replace: stale, or about to be. Null where none is known: at a
  /// miss, where it was "no such thing", behind put and invalidate, and in a load without the
  /// store. It lives as long as a copy of this context.
  T const* old_value() const noexcept {
    auto const& old = state()->replaced;
    return old.kind == detail::entry_kind::value ? static_cast<T const*>(old.object.get())
                                                 : nullptr;
  }
  /// Whether there is something to keep: an old value, or an old "no such thing".
  bool has_old_entry() const noexcept { return state()->replaced.kind != detail::entry_kind::miss; }

  /// Keeps what is there: `return load.not_modified();`. Whatever the loader returns then, its old
  /// value (or "no such thing") is the answer and is stored anew, with the times of an entry that
  /// was loaded now. It is sent to the store again. Throws herdlock::error with errc::invalid_value
  /// where nothing is there to be kept, and what copying a T throws.
  std::optional<T> not_modified() {
    if (!has_old_entry()) throw error(detail::nothing_to_keep(key()));
    T const* const old = old_value();
    std::optional<T> kept;
    if (old) kept.emplace(*old);
    state()->decided.is_modified = false;
    return kept;
  }
};

}  // namespace v0
}  // namespace herdlock
