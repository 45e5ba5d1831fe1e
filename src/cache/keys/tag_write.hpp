// Makes a tag's record where there is none, where it was made stale, or where it ends too soon.
// Why: docs/decisions/tags.md#a-tag-is-a-record-that-is-compared
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include <herdlock/backend.hpp>

#include "algo/backoff.hpp"
#include "algo/tag_check.hpp"
#include "cache/keys/home.hpp"

namespace herdlock::runtime {

class cache_tags;

/// One process of all makes the record:
///
///   1. claim: a record that is there by now is the answer, if it serves
///   2. else claim beside it, and read it once more: the one before may just have been at work
///   3. fill
///
/// A record that was made stale keeps what invalidate_tag changes, and gets a new number for what
/// expire_tag changes; a missing one gets it for both. A claim whose fill may not have come is
/// given up. A process that finds it claimed by another waits, as long as a dead one's claims last
/// at most; not if the record only ends too soon: the other prolongs it as it is.
///
/// Nothing is written without a claim: two who did that would end each other's entries.
class tag_write final : public closing_listener, public std::enable_shared_from_this<tag_write> {
 public:
  /// REQUIRES: the tag can be one. `home` has `tags`.
  tag_write(home_ptr home, cache_tags& tags, std::string tag,
            std::function<void(failure const&)> done);

  void run();

 private:
  void on_closing() override;

  void on_claim(result<claim_reply> reply, clock::time_point sent);
  void on_record(cache_lookup const& found, clock::time_point sent);
  void look_again();
  std::uint64_t next_number();
  void fill(algo::tag_generations const& now);
  void remove();
  void made(algo::tag_generations const& now, clock::time_point sent);
  void on_busy();
  void again();
  milliseconds claim_ttl() const;
  void give_up();
  void finish(failure const& why);

  home_ptr const home_;
  std::shared_ptr<void> const keep_;  // of `tags`
  cache_tags& tags_;
  std::string tag_;
  cache_key key_;
  owner_token owner_;
  std::function<void(failure const&)> done_;
  asio::steady_timer pause_;
  algo::backoff backoff_;
  clock::time_point asked_;
  std::uint64_t numbers_ = 0;    // given to records
  bool beside_ = false;          // the claim is for a record that is there
  bool may_hold_claim_ = false;  // it was asked for, and neither refused nor ended
};

}  // namespace herdlock::runtime
