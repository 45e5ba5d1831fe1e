// The part of the tags in a load: a hit that others stored is judged by them, and their generations
// are found out before the loader runs.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <herdlock/backend.hpp>

#include "algo/load_machine.hpp"
#include "algo/tag_check.hpp"

namespace herdlock::runtime {

class cache_engine;
class load_flight;

struct claim_of_load {
  cache_key key;
  owner_token owner;
  bool by_tags;  ///< it stands beside an entry that tags ended
};

/// A hit that is not fresh by its tags is given marked stale, with the verdict. A claim that was
/// granted beside an entry that tags ended is given back for a hit when the next entry is there by
/// now. `done` may be called at once.
void judge_claim(cache_engine& home, claim_of_load const& mine, result<claim_reply> reply,
                 std::function<void(result<claim_reply>, algo::tag_verdict)> const& done);

/// The same for a hit that was pushed: its load may have begun before its tags changed.
void judge_push(cache_engine& home, result<watch_reply> reply,
                std::function<void(result<watch_reply>)> const& done);

/// R22: the generations of before the load, as extensions of the entry, whatever changes while it
/// runs. Nothing where they could not be found out, so that the value is not to be stored. An error
/// when the key's tags cannot be such, and nothing is to be loaded.
void prepare_load(cache_engine& home, load_flight& flight, algo::load_guard guard,
                  std::function<void(result<std::optional<std::string>>)> const& done);

}  // namespace herdlock::runtime
