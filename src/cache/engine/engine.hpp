// The calls of one cache: looks for what they ask for, answers them with it, or loads it. cache<T>
// is a template over it.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <herdlock/detail/cache_core.hpp>

#include "cache/engine/arrivals.hpp"
#include "cache/engine/callers.hpp"
#include "cache/engine/flights.hpp"
#include "cache/engine/posting_gate.hpp"
#include "cache/engine/shared_looks.hpp"
#include "cache/keys/keys.hpp"

namespace herdlock::runtime {

struct engine_settings {
  cache_options options;
  layout form;
  detail::cache_decode decode;
  near_cache near;                               ///< what near_options::mode has come to
  std::shared_ptr<detail::owned_load> owned;     ///< null where the cache has no loader of its own
  std::weak_ptr<loader_pool> pool;               ///< the threads that run its loader
  std::weak_ptr<detail::store_context> context;  ///< of the values
};

/// All members on the executor but submit() and the accessors.
class cache_engine final : public closing_listener,
                           public std::enable_shared_from_this<cache_engine> {
 public:
  /// `locks` is null when the claims are in the value store.
  static std::shared_ptr<cache_engine> make(std::shared_ptr<store_core> values,
                                            std::shared_ptr<store_core> locks,
                                            engine_settings settings);
  ~cache_engine() override;

  // Any thread.
  void submit(std::span<detail::caller_ptr> callers);
  store_core& home() const { return *home_->store; }
  cache_home const& common() const noexcept { return *home_; }
  local_parts const& local() const noexcept { return keys_->local(); }
  load_services const& services() const noexcept { return *services_; }
  callers_ptr const& callers() const noexcept { return callers_; }

  void put(put_request request, handler<void> done);
  void invalidate(cache_key key, handler<bool> done);
  /// REQUIRES: framed entries, as of end_tag().
  void expire(cache_key key, handler<bool> done);
  void end_tag(tag_end const& what, handler<void> done);
  /// Calls that come from now on join no load that has begun, and get nothing that such a load came
  /// to and the store does not have. It goes on for those who wait for it, and is stored unless the
  /// store has voided its claim; then it answers others, too.
  void fence();
  /// Answers everyone with errc::canceled and gives the claims up.
  void on_closing() override;

 private:
  using look_group = shared_looks::group;
  using found_or_not = std::optional<found_entry>;

  cache_engine(home_ptr home, std::shared_ptr<cache_keys> keys, callers_ptr callers);

  void drain();
  void turn_away(detail::cache_caller& caller);
  void accept(detail::caller_ptr caller, clock::time_point now);
  void look_again(detail::caller_ptr caller);
  void look_for(detail::caller_ptr caller, clock::time_point now);
  void send_look(look_group group);
  void on_look(look_group const& group, result<found_or_not> got);
  void on_found(detail::caller_ptr const& caller, found_entry entry, clock::time_point now);
  void on_missed(detail::caller_ptr const& caller);
  void do_without_store(detail::caller_ptr const& caller, failure const& why);
  void probe(cache_key const& key);
  template <class Reply, class Send>
  void write(cache_key const& key, voiding how, handler<Reply> done, Send&& send);
  template <class Reply>
  void count(result<Reply> const& reply);

  home_ptr const home_;
  std::shared_ptr<cache_keys> const keys_;
  callers_ptr const callers_;
  std::shared_ptr<cache_flights> flights_;
  load_services const* services_ = nullptr;
  cache_arrivals arrivals_;
  shared_looks looks_;  // the looks of this turn, not sent yet
};

}  // namespace herdlock::runtime
