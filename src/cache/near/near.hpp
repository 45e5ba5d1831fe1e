// The near cache of one cache: its table, and what drives its machine (algo/near_machine.hpp).
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <herdlock/detail/cache_core.hpp>
#include <herdlock/tracking_store.hpp>

#include "algo/near_machine.hpp"
#include "cache/fleet/key_heat.hpp"
#include "cache/near/near_selection.hpp"
#include "cache/near/near_table.hpp"
#include "cache/near/near_upkeep.hpp"
#include "runtime/cache_counters.hpp"
#include "runtime/store_core.hpp"

namespace herdlock::runtime {

/// The read of a value that may be kept: admit() knows whether it still may.
struct near_reading {
  algo::near_stamp stamp;
  algo::near_answer answer;
};

struct near_read {
  cache_lookup found;
  std::optional<near_reading> reading;
};

/// A hit as an answer; the value is shared with whoever else was given it. A miss for nothing.
inline detail::cache_answer answer_of(detail::near_hit hit) noexcept {
  if (!hit) return {};
  if (!hit.value) return {.kind = detail::entry_kind::absent};
  // Never `sole`: nobody moves from it.
  return {.kind = detail::entry_kind::value,
          .object = std::const_pointer_cast<void>(std::move(hit.value))};
}

/// A link that is up, and its connection in the machine.
struct near_link {
  algo::near_connection connection;
  std::uint64_t pushes = 0;
};

/// The calls that wait until every write of before is known here. They wait in the order of their
/// numbers, at most `most`. On the executor; handlers run in an event of their own.
class waiting_fences {
 public:
  waiting_fences(boost::asio::any_io_executor executor, std::size_t most)
      : executor_(std::move(executor)), most_(most) {}

  bool full() const noexcept { return waiting_.size() >= most_; }
  std::size_t most() const noexcept { return most_; }
  /// The number is not below those before. The calls of one number pass together.
  void add(std::uint64_t number, handler<void> done) {
    waiting_.push_back({number, std::move(done)});
  }
  /// The fences up to the number complete.
  void pass(std::uint64_t number) {
    while (!waiting_.empty() && waiting_.front().number <= number) {
      detail::post_result<void>(executor_, take_first(), boost::system::in_place_value);
    }
  }
  /// All fences complete with this error.
  void end(failure const& why) {
    while (!waiting_.empty()) detail::post_result<void>(executor_, take_first(), why);
  }

 private:
  struct waiting {
    std::uint64_t number;
    handler<void> done;
  };

  handler<void> take_first() {
    auto done = std::move(waiting_.front().done);
    waiting_.pop_front();
    return done;
  }

  boost::asio::any_io_executor executor_;
  std::size_t most_;
  std::deque<waiting> waiting_;
};

/// Keys are without the prefix where any thread may call, and with it on the executor.
class cache_near final : public detail::process_bound,
                         public tracking_listener,
                         public timed,
                         public std::enable_shared_from_this<cache_near> {
 public:
  /// `counters` outlive it.
  /// `mode`: not `off`.
  cache_near(std::shared_ptr<store_core> home, cache_counters& counters,
             cache_options const& options, near_cache mode, key_sources by);
  ~cache_near() override;

  // Any thread.
  /// A child of fork() is told of no write, so it keeps nothing.
  detail::near_hit find(std::string_view key, detail::near_look who) noexcept {
    if (inherited()) return {};
    return table_->find(key, clock::now(), who);
  }
  /// errc::overloaded when near.entries keys are pinned already.
  failure pin(std::string_view key);
  void unpin(std::string_view key);

  // On the executor.
  void open();
  /// Whether the key's entry is to be loaded anew before it ends.
  bool is_hot(cache_key const& key) const { return which_.is_hot(key); }
  /// Whether a value of the key is to be kept when it is read.
  bool keeps(cache_key const& key) const;
  void read(cache_key const& key, layout form, std::function<void(result<near_read>)> done);
  /// How a value that was read may be kept: for an insert() in the same event. Nothing: it may not,
  /// as it has changed since it was read.
  std::optional<algo::near_entry> admit(cache_key const& key, near_reading const& of);
  /// Returns false if the value is not kept.
  bool insert(cache_key const& key, algo::near_entry const& how, detail::near_value what);
  detail::near_table const& table() const noexcept { return *table_; }
  /// Any thread.
  void add_counts(cache_stats& into) const;
  /// Around each write of ours; nothing of the key is kept in between.
  void write_sent(cache_key const& key) { apply(machine_.write_sent(key.str())); }
  void write_ended(cache_key const& key);
  /// Every write that was acknowledged to anybody before the call is known here when it completes.
  /// errc::overloaded where bounds.max_waiting of them wait already.
  void fence(handler<void> done);
  /// Nothing that was read before is served any more.
  void drop_all() { apply(machine_.drop_all()); }
  /// Nothing is kept any more.
  void close();

 private:
  void on_link_up(link_id which, clock::time_point asked) override;
  void on_link_refused(link_id which, clock::time_point asked, failure const& why) override;
  void on_link_down(link_id which) override;
  void on_changed(link_id which, std::span<std::string_view const> keys) override;
  void on_all_changed(link_id which) override;
  void on_slot_moved(std::uint16_t slot) override { apply(machine_.slot_moved(slot)); }
  void on_slots_leaving(link_id which) override;
  void on_due(clock::time_point now) override { apply(machine_.timer(now)); }

  void listen();
  near_link* connect(link_id which, clock::time_point asked);
  void apply(algo::near_plan const& plan);
  void apply_one(algo::near_action const& one);
  void ping(algo::near_connection over, std::uint64_t number);

  std::shared_ptr<store_core> const home_;
  cache_counters& counters_;
  std::shared_ptr<key_heat> const heat_;
  std::shared_ptr<rules_of_keys> const rules_;
  near_selection which_;
  bool const asked_for_;  // else it is there by default
  milliseconds const untracked_age_;
  milliseconds const max_staleness_;
  std::shared_ptr<detail::near_table> const table_;
  std::shared_ptr<near_upkeep> const upkeep_;
  algo::near_machine machine_;
  std::map<link_id, near_link> links_;
  waiting_fences fences_;
  bool listens_ = false;
  bool closed_ = false;
};

/// A write of ours to the key, from before it is sent to its reply: for as long as somebody has
/// this.
class near_write {
 public:
  near_write(std::shared_ptr<cache_near> near, cache_key key)
      : near_(std::move(near)), key_(std::move(key)) {
    near_->write_sent(key_);
  }
  near_write(near_write const&) = delete;
  near_write& operator=(near_write const&) = delete;
  ~near_write() { near_->write_ended(key_); }

 private:
  std::shared_ptr<cache_near> const near_;
  cache_key const key_;
};

}  // namespace herdlock::runtime
