// Which server the sentinels make the master, when they do not all say the same.
//
// A sentinel may be cut off from the others, left over from an earlier set-up, or late by a moment;
// it then names an old address and is sure of it. So all of them are asked, and the address that
// most of them name counts:
//
//     more than half of all name it        decided at once, whoever is still silent
//     all have answered, or time is up     the address with the most votes
//     as many votes for another            the one with the larger epoch: each switch has a larger
//                                          one than the switch before it
//     the same epoch, or none was told     the one that is used now; else the one whose sentinel
//                                          stands in front (who was wrong before stands behind)
//
// Pure: no clock, no connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stores/common/url_options.hpp"

namespace herdlock::redis {

/// One round of questions. O(n²) for n sentinels.
class master_vote {
 public:
  /// `sentinels`, in the order of trust, may be none; each answers once, or is silent.
  explicit master_vote(std::vector<stores::server_address> sentinels);

  /// The sentinel at this index names a master, with its configuration epoch (0: it did not say
  /// which), or says that it knows none (or nothing at all).
  void names(std::size_t sentinel, stores::server_address const& master, std::int64_t epoch = 0);
  void knows_none(std::size_t sentinel);

  bool has_answered(std::size_t sentinel) const { return answered_.at(sentinel) != 0; }
  /// Nobody's answer is missing, or those that are missing cannot change the outcome.
  bool decided() const;
  /// What counts so far; nothing when nobody has named one. `present`: the address that is used
  /// now.
  std::optional<stores::server_address> winner(
      std::optional<stores::server_address> const& present = std::nullopt) const;

  std::vector<stores::server_address> const& sentinels() const { return sentinels_; }
  /// The sentinels that have named it, in their order.
  std::vector<stores::server_address> who_named(stores::server_address const& master) const;
  /// It has named another one than this.
  bool contradicts(stores::server_address const& sentinel,
                   stores::server_address const& master) const;
  /// `SENTINEL names MASTER, …` for those that name another one than the winner.
  std::string dissent() const;

 private:
  struct opinion {
    std::optional<stores::server_address> master;
    std::int64_t epoch = 0;
  };
  using weight = std::pair<std::size_t, std::int64_t>;  // votes, then the largest epoch

  weight weight_of(stores::server_address const& master) const;

  std::vector<stores::server_address> sentinels_;
  std::vector<opinion> told_;  // by each of them
  std::vector<char> answered_;
};

/// ` (the sentinel at HOST:PORT names it)` for messages; empty when nobody did.
std::string naming_text(std::vector<stores::server_address> const& sentinels);

}  // namespace herdlock::redis
