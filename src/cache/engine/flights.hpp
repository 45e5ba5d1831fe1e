// The loads of one cache: who joins which, who loads next, and what ends them.
#pragma once

#include <boost/intrusive/list.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algo/flight_table.hpp"
#include "algo/record_flights.hpp"
#include "cache/engine/callers.hpp"
#include "cache/engine/flight.hpp"
#include "cache/engine/load_services.hpp"

namespace herdlock::runtime {

/// A call that loads whatever is there misses nothing.
inline void count_miss(detail::cache_caller& caller, cache_counters& counters) {
  if (loads_now(caller)) return;
  if (std::exchange(caller.missed, true)) return;
  cache_counters::add(counters.misses);
  counters.tell(cache_outcome::miss, caller.key);
}

/// All members on the executor.
class cache_flights final : public flight_board,
                            public std::enable_shared_from_this<cache_flights> {
 public:
  using claims_of_loads = std::vector<std::pair<cache_key, owner_token>>;

  /// `look_again`: the caller goes on as a call that has just come.
  cache_flights(load_services services, std::shared_ptr<cache_callers> callers,
                std::function<void(detail::caller_ptr)> look_again);

  load_services& services() override { return services_; }
  cache_callers& callers() override { return *callers_; }

  /// The key is being loaded, and nothing can be served meanwhile.
  bool are_awaited(cache_key const& key);
  /// The caller joins the load of the key, or begins it; or he is answered.
  void launch(detail::caller_ptr caller, algo::load_guard guard, load_purpose purpose = {});
  /// The key is loaded behind the caller's answer, unless somebody is at it, or claims cannot be
  /// had. Returns whether the caller waits for the load.
  bool refresh(detail::caller_ptr const& caller, load_purpose const& purpose);

  /// The key is written: its loads are void, and so is what is known of it.
  void voided(cache_key const& key, voiding how);
  /// The tag ends: the same for the loads that run with it. Their claims are to be given back when
  /// it has ended in the store.
  claims_of_loads tag_ended(std::string const& tag, detail::tag_ending how);
  /// Calls that come from now on join no load that has begun.
  void fence() { table_.fence(); }
  void close();

 private:
  using joiners =
      algo::flight_table<detail::caller_ptr, std::shared_ptr<load_flight>, algo::record_flights>;
  using flight_list = boost::intrusive::list<load_flight, boost::intrusive::base_hook<tagged_load>,
                                             boost::intrusive::constant_time_size<false>>;

  void detach(algo::flight_id id) override { table_.detach(id); }
  void answer(algo::flight_id id, result<detail::cache_answer> const& answer,
              detail::caller_ptr const& loaded) override;
  void forget(algo::flight_id id) override;
  void list_tagged(load_flight& flight) override;
  void unlist(load_flight& flight) override;
  std::size_t waiting(algo::flight_id id) const override { return table_.waiting(id); }
  detail::caller_ptr const* first_of(
      algo::flight_id id, std::function<bool(detail::caller_ptr const&)> const& holds) override {
    return table_.first_of(id, holds);
  }
  void take_out(detail::cache_caller& caller) override;
  void look_again(algo::flight_id id) override;
  void look_again(detail::caller_ptr caller) override { look_again_(std::move(caller)); }

  std::optional<algo::flight_id> flying(cache_key const& key);
  void leave_older_load(cache_key const& key);
  void left(detail::cache_caller& caller);
  void refuse(detail::cache_caller& caller);
  std::vector<std::shared_ptr<load_flight>> at_work(cache_key const& key);

  load_services services_;
  std::shared_ptr<cache_callers> const callers_;
  std::function<void(detail::caller_ptr)> const look_again_;
  joiners table_;
  flight_list tagged_;  // loads of values with tags, until they are stored
};

}  // namespace herdlock::runtime
