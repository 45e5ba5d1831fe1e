// The callers that wait for each running load: one flight per key, joined by all who want that key.
//
// Pure. The owner (single_flight, cache) guards it, runs the operation for whoever was told
// `leader`, and hangs its own state for each flight (stop source, owner token, …) off `State`.
//
//   join(key)      the first is the leader and a joiner like the others: it may leave, too
//   leave(ticket)  one caller gives up; the flight goes on, even with nobody left in it
//   first_of(id)   who of those who are in it came first
//   detach(key)    the running flight answers those it has, and the next join starts a new one
//   fence()        those that have begun by now take nobody more: flying_since_fence() sees to it
//   finish(id)     hands the joiners back in the order in which they came
//
// Every operation is O(1) amortised (finish: in the number of joiners). A flight keeps its joiners
// in one array threaded by a list: a herd costs no allocation for each joiner.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace herdlock::algo {

/// Bounds of a flight table; a join past one of them is refused and changes nothing.
struct flight_limits {
  std::size_t max_flights = 65'536;                ///< running at once, detached ones included
  std::size_t max_joiners_per_flight = 1'000'000;  ///< waiting for one flight
  std::size_t max_joiners = 1'000'000;             ///< waiting for all flights together
};

/// Names one flight for ever: ids are not used again.
struct flight_id {
  std::uint64_t value = 0;
  friend auto operator<=>(flight_id const&, flight_id const&) = default;
};

/// A joiner's slot in a flight. A stale ticket (left, or finished) is recognised as such.
struct flight_ticket {
  flight_id flight;
  std::uint32_t slot = 0;
  std::uint32_t visit = 0;  ///< tells apart those who had this slot one after the other
};

enum class join_outcome {
  leader,            ///< a new flight: run the operation
  joined,            ///< somebody is at it already
  too_many_flights,  ///< refused: max_flights
  too_many_joiners,  ///< refused: max_joiners_per_flight or max_joiners
};

struct join_reply {
  join_outcome outcome = join_outcome::too_many_flights;
  flight_ticket ticket;  ///< meaningful for leader and joined

  bool accepted() const noexcept {
    return outcome == join_outcome::leader || outcome == join_outcome::joined;
  }
};

/// The result of leave(): the joiner that it took out (nothing for a stale ticket: its result is
/// already on the way), and how many still wait for the flight.
template <class Joiner>
struct leave_reply {
  std::optional<Joiner> joiner;
  std::size_t remaining = 0;
};

/// Joiner: any movable type. State: default-constructible, movable. Index: find(key) gives the id
/// of the flight that takes new joiners, 0 for none; set(key, id) is false without room, and its
/// key is valid until clear(key). Not thread-safe; members of the three must not call back.
template <class Joiner, class State, class Index>
class flight_table {
 public:
  explicit flight_table(flight_limits limits = {}, Index index = Index())
      : limits_(limits), by_key_(std::move(index)) {}
  flight_table(flight_table const&) = delete;
  flight_table& operator=(flight_table const&) = delete;

  /// Joins the flight of this key, or starts one. A refused joiner is not moved from.
  join_reply join(std::string_view key, Joiner&& joiner) {
    if (joiners_ >= limits_.max_joiners) return {join_outcome::too_many_joiners, {}};
    if (flight* const found = find_attached(key)) {
      flight& running = *found;
      if (running.waiting >= limits_.max_joiners_per_flight) {
        return {join_outcome::too_many_joiners, {}};
      }
      return {join_outcome::joined, add_joiner(running, std::move(joiner))};
    }
    if (flights_.size() >= limits_.max_flights) return {join_outcome::too_many_flights, {}};
    if (limits_.max_joiners_per_flight == 0) return {join_outcome::too_many_joiners, {}};
    flight* const fresh = launch(key);
    if (!fresh) return {join_outcome::too_many_flights, {}};
    return {join_outcome::leader, add_joiner(*fresh, std::move(joiner))};
  }

  /// Takes one joiner out. The flight stays, and may be joined again, until finish().
  leave_reply<Joiner> leave(flight_ticket const& ticket) {
    flight* running = find(ticket.flight);
    if (!running) return {};
    if (ticket.slot >= running->slots.size()) return {std::nullopt, running->waiting};
    slot& mine = running->slots[ticket.slot];
    if (!mine.joiner || mine.visit != ticket.visit) return {std::nullopt, running->waiting};
    leave_reply<Joiner> reply;
    reply.joiner = std::exchange(mine.joiner, std::nullopt);
    unlink(*running, ticket.slot);
    reply.remaining = running->waiting;
    return reply;
  }

  /// From now on the key's flight takes no new joiners. False when there was none to detach.
  bool detach(std::string_view key) {
    flight* const running = find_attached(key);
    if (!running) return false;
    running->attached = false;
    by_key_.clear(key);
    return true;
  }

  /// The same by id, and only if the key is still served by this very flight.
  bool detach(flight_id id) {
    flight* running = find(id);
    return running && running->attached && detach(running->key);
  }

  void fence() noexcept { ++fences_; }
  /// flying(), which detaches the key's flight first if it is from before the last fence() and has
  /// begun, by its state. An owner that fences calls it instead, and in front of each join().
  template <class Condition>
  std::optional<flight_id> flying_since_fence(std::string_view key, Condition&& has_begun) {
    flight* const found = find_attached(key);
    if (!found) return std::nullopt;
    flight& running = *found;
    bool const is_older = std::exchange(running.fences, fences_) != fences_;
    if (!is_older || !has_begun(running.state)) return running.id;
    running.attached = false;
    by_key_.clear(key);
    return std::nullopt;
  }

  /// Ends the flight: its joiners in join order; nothing for a flight that has ended before.
  std::vector<Joiner> finish(flight_id id) {
    auto found = flights_.find(id.value);
    if (found == flights_.end()) return {};
    flight& running = found->second;
    std::vector<Joiner> all;
    all.reserve(running.waiting);
    for (std::uint32_t at = running.first; at != nowhere; at = running.slots[at].next) {
      all.push_back(std::move(*running.slots[at].joiner));
    }
    joiners_ -= all.size();
    if (running.attached) by_key_.clear(running.key);
    flights_.erase(found);
    return all;
  }

  /// The first joiner that is still in the flight and for which this holds, or null. Valid until
  /// the next call.
  template <class Condition>
  Joiner* first_of(flight_id id, Condition&& holds) {
    flight* running = find(id);
    if (!running) return nullptr;
    for (std::uint32_t at = running->first; at != nowhere; at = running->slots[at].next) {
      if (holds(*running->slots[at].joiner)) return &*running->slots[at].joiner;
    }
    return nullptr;
  }

  /// All joiners, in the order in which they came. The flight goes on without them.
  std::vector<Joiner> take_joiners(flight_id id) {
    flight* running = find(id);
    if (!running) return {};
    std::vector<Joiner> all;
    all.reserve(running->waiting);
    while (running->first != nowhere) {
      slot& mine = running->slots[running->first];
      all.push_back(*std::exchange(mine.joiner, std::nullopt));
      unlink(*running, running->first);
    }
    return all;
  }

  /// The owner's state of a running flight, or null. Valid until the flight's finish().
  State* state(flight_id id) {
    flight* running = find(id);
    return running ? &running->state : nullptr;
  }

  /// The flight that a join of this key would get into, if there is one.
  std::optional<flight_id> flying(std::string_view key) const {
    std::uint64_t const found = by_key_.find(key);
    return found != 0 ? std::optional(flight_id{found}) : std::nullopt;
  }

  /// The number of joiners that wait for this flight; 0 when it has ended.
  std::size_t waiting(flight_id id) const {
    auto found = flights_.find(id.value);
    return found == flights_.end() ? 0 : found->second.waiting;
  }

  /// The ids of all running flights, detached ones included, in no order: for closing down.
  std::vector<flight_id> running() const {
    std::vector<flight_id> ids;
    ids.reserve(flights_.size());
    for (auto const& [id, unused] : flights_) ids.push_back(flight_id{id});
    return ids;
  }

  std::size_t flights() const noexcept { return flights_.size(); }
  std::size_t joiners() const noexcept { return joiners_; }
  flight_limits const& bounds() const noexcept { return limits_; }

 private:
  static constexpr std::uint32_t nowhere = UINT32_MAX;

  // A slot is either in the list of joiners or in the list of vacant slots.
  struct slot {
    std::optional<Joiner> joiner;
    std::uint32_t previous = nowhere;
    std::uint32_t next = nowhere;
    std::uint32_t visit = 0;
  };

  struct flight {
    flight_id id;
    std::string key;
    State state{};
    std::vector<slot> slots;
    std::uint32_t first = nowhere;
    std::uint32_t last = nowhere;
    std::uint32_t vacant = nowhere;
    std::size_t waiting = 0;
    std::uint64_t fences = 0;  // before it was launched, or was seen not to have begun
    bool attached = true;
  };

  flight* find(flight_id id) {
    auto found = flights_.find(id.value);
    return found == flights_.end() ? nullptr : &found->second;
  }

  flight* find_attached(std::string_view key) {
    std::uint64_t const found = by_key_.find(key);
    return found != 0 ? find(flight_id{found}) : nullptr;
  }

  // The index borrows the key's bytes from the flight, whose node does not move. Null: no room.
  flight* launch(std::string_view key) {
    flight_id id{++last_id_};
    flight& fresh = flights_[id.value];
    fresh.id = id;
    fresh.key = key;
    fresh.fences = fences_;
    bool is_set = false;
    try {
      is_set = by_key_.set(fresh.key, id.value);
    } catch (...) {
      flights_.erase(id.value);
      throw;
    }
    if (is_set) return &fresh;
    flights_.erase(id.value);
    return nullptr;
  }

  flight_ticket add_joiner(flight& running, Joiner&& joiner) {
    std::uint32_t at = running.vacant;
    if (at == nowhere) {
      at = static_cast<std::uint32_t>(running.slots.size());
      running.slots.emplace_back();
    } else {
      running.vacant = running.slots[at].next;
    }
    slot& mine = running.slots[at];
    mine.joiner.emplace(std::move(joiner));
    mine.previous = running.last;
    mine.next = nowhere;
    (running.last == nowhere ? running.first : running.slots[running.last].next) = at;
    running.last = at;
    ++running.waiting;
    ++joiners_;
    return {running.id, at, mine.visit};
  }

  void unlink(flight& running, std::uint32_t at) {
    slot& mine = running.slots[at];
    (mine.previous == nowhere ? running.first : running.slots[mine.previous].next) = mine.next;
    (mine.next == nowhere ? running.last : running.slots[mine.next].previous) = mine.previous;
    ++mine.visit;
    mine.next = std::exchange(running.vacant, at);
    --running.waiting;
    --joiners_;
  }

  flight_limits limits_;
  std::uint64_t last_id_ = 0;
  std::uint64_t fences_ = 0;
  std::size_t joiners_ = 0;
  std::unordered_map<std::uint64_t, flight> flights_;
  Index by_key_;
};

}  // namespace herdlock::algo
