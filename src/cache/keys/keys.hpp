// Everything that a process knows of the keys of one cache, behind the events that a key has:
//
//   reads    looked, found, missed
//   loads    claimed, loaded, failed, stored
//   tagging  load begins, tags named by its loader
//   writes   write begins, write ended, expired, tag ended
//   here     closed; the table itself evicts (algo/key_records.hpp)
//
// Each event is passed on once to each policy that the cache has (policies.hpp); nobody else asks
// which of them are there.
#pragma once

#include <memory>

#include "cache/keys/loads.hpp"
#include "cache/keys/policies.hpp"
#include "cache/keys/reads.hpp"
#include "cache/keys/tagging.hpp"
#include "cache/keys/writes.hpp"

namespace herdlock::runtime {

/// The calls that come from here: the end of a call, and a call for a key whose refresh is due.
struct calls_of_keys {
  copies_at_hand::soft_end end_softly;
  cache_lasting::caller_of refresh;
};

/// All members on the executor, but for local(). A reply that is to come back keeps it.
class cache_keys {
 public:
  static std::shared_ptr<cache_keys> make(home_ptr home, near_cache mode,
                                          detail::cache_decode decode);
  cache_keys(home_ptr home, near_cache mode, detail::cache_decode decode);
  cache_keys(cache_keys const&) = delete;
  cache_keys& operator=(cache_keys const&) = delete;
  ~cache_keys();

  /// Before anything else.
  void open(calls_of_keys calls);
  void close();
  algo::key_records& table() noexcept { return policies_.table; }
  local_parts const& local() const noexcept { return policies_.local; }
  copies_at_hand& copies() noexcept { return policies_.copies; }
  cache_unstored& unstored() noexcept { return policies_.unstored; }

 private:
  key_policies policies_;

 public:
  key_reads reads;
  key_loads loads{policies_, reads};
  key_tagging tagging{policies_};
  key_writes writes{policies_};
};

}  // namespace herdlock::runtime
