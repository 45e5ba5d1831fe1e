// Writes of keys: put, invalidate, expire; the ends of tags; fences.
#pragma once

#include <string>
#include <string_view>

#include <herdlock/backend.hpp>
#include <herdlock/detail/cache_core.hpp>

#include "cache/keys/entries.hpp"
#include "cache/keys/policies.hpp"

namespace herdlock::runtime {

/// voided() and tag_changed() are to be called before a write is sent and after its reply: what
/// began in between may have been answered by the store before it carried the write out. All
/// members on the executor.
class key_writes {
 public:
  /// `what` outlives this.
  explicit key_writes(key_policies& what) : of_(what) {}

  /// Copies and answers of the key say nothing any more.
  void voided(cache_key const& key, voiding how);
  /// Copies alone: the key itself was not written.
  void ages_voided(cache_key const& key, voiding how);
  /// Whether the value may be stored; `done` is then to be told how that went.
  failure admit(put_request const& request, handler<void>& done);
  void put(put_request request, handler<void> done);
  void invalidate(cache_key const& key, handler<bool> done);
  void expire(cache_key const& key, handler<bool> done);

  // REQUIRES: framed entries.
  void tag_changed(std::string const& tag, detail::tag_ending how);
  void end_tag(tag_end const& what, handler<bool> done) {
    of_.tags->end(what.record, what.how, std::move(done));
  }

  void fence();
  /// Nothing is stored any more.
  void close() { closed_ = true; }

 private:
  template <class Reply>
  handler<Reply> begin(cache_key const& key, handler<Reply> done);
  void put_framed(put_request request, handler<void> done);
  void send(put_request request, handler<void> done);

  key_policies& of_;
  bool closed_ = false;
};

}  // namespace herdlock::runtime
