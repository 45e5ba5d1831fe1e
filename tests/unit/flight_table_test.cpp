#include "algo/flight_table.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "key_records_fixture.hpp"

namespace herdlock::algo {
namespace {

using table = flight_table<int, int, flights_in_a_map>;

TEST(flight_table, TheFirstJoinerLeadsAndTheOthersJoin) {
  table flights;
  auto const first = flights.join("a", 1);
  auto const second = flights.join("a", 2);
  auto const other = flights.join("b", 3);
  EXPECT_EQ(first.outcome, join_outcome::leader);
  EXPECT_EQ(second.outcome, join_outcome::joined);
  EXPECT_EQ(other.outcome, join_outcome::leader);
  EXPECT_EQ(first.ticket.flight, second.ticket.flight);
  EXPECT_NE(first.ticket.flight, other.ticket.flight);
  EXPECT_EQ(flights.waiting(first.ticket.flight), 2u);
}

TEST(flight_table, FinishHandsTheJoinersBackInJoinOrder) {
  table flights;
  auto const flight = flights.join("a", 1).ticket.flight;
  for (int i = 2; i <= 100; ++i) flights.join("a", int(i));
  auto const all = flights.finish(flight);
  ASSERT_EQ(all.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(all[i], i + 1);
  EXPECT_EQ(flights.flights(), 0u);
  EXPECT_EQ(flights.joiners(), 0u);
  EXPECT_TRUE(flights.finish(flight).empty()) << "a flight ends once";
}

TEST(flight_table, AJoinAfterFinishStartsANewFlight) {
  table flights;
  auto const old = flights.join("a", 1).ticket.flight;
  flights.finish(old);
  auto const fresh = flights.join("a", 2);
  EXPECT_EQ(fresh.outcome, join_outcome::leader);
  EXPECT_NE(fresh.ticket.flight, old);
}

// S7: one caller's cancellation never fails the others.
TEST(flight_table, LeavingTakesOutOneJoinerAndKeepsTheOrderOfTheOthers) {
  table flights;
  auto const leader = flights.join("a", 1).ticket;
  flights.join("a", 2);
  auto const third = flights.join("a", 3).ticket;
  flights.join("a", 4);
  auto left = flights.leave(third);
  EXPECT_EQ(left.joiner, 3);
  EXPECT_EQ(left.remaining, 3u);
  EXPECT_EQ(flights.leave(leader).joiner, 1) << "the leader's caller may leave as well";
  EXPECT_EQ(flights.finish(leader.flight), (std::vector<int>{2, 4}));
}

TEST(flight_table, AnAbandonedFlightCanStillBeJoined) {
  table flights;
  auto const leader = flights.join("a", 1).ticket;
  EXPECT_EQ(flights.leave(leader).remaining, 0u);
  EXPECT_EQ(flights.join("a", 2).outcome, join_outcome::joined);
  EXPECT_EQ(flights.finish(leader.flight), (std::vector<int>{2}));
}

TEST(flight_table, AStaleTicketTakesOutNobody) {
  table flights;
  auto const leader = flights.join("a", 1).ticket;
  auto const gone = flights.join("a", 2).ticket;
  flights.leave(gone);
  auto const heir = flights.join("a", 3).ticket;
  ASSERT_EQ(heir.slot, gone.slot) << "the slot is used again, so the ticket must tell them apart";
  EXPECT_FALSE(flights.leave(gone).joiner);
  EXPECT_EQ(flights.finish(leader.flight), (std::vector<int>{1, 3}));
  EXPECT_FALSE(flights.leave(heir).joiner);
}

TEST(flight_table, ADetachedFlightAnswersItsOwnAndTakesNobodyElse) {
  table flights;
  auto const old = flights.join("a", 1).ticket.flight;
  EXPECT_TRUE(flights.detach("a"));
  EXPECT_FALSE(flights.detach("a"));
  auto const fresh = flights.join("a", 2);
  EXPECT_EQ(fresh.outcome, join_outcome::leader);
  EXPECT_FALSE(flights.detach(old)) << "the key is another flight's by now";
  EXPECT_EQ(flights.finish(old), (std::vector<int>{1}));
  EXPECT_EQ(flights.flying("a"), fresh.ticket.flight)
      << "the old flight's end is not the new one's";
  EXPECT_EQ(flights.finish(fresh.ticket.flight), (std::vector<int>{2}));
}

TEST(flight_table, BehindAFenceNobodyJoinsWhatHadBegun) {
  flight_table<int, bool, flights_in_a_map> flights;
  auto const join = [&](std::string_view key, int who) {
    flights.flying_since_fence(key, [](bool begun) { return begun; });
    return flights.join(key, int(who));
  };
  auto const begun = join("a", 1).ticket.flight;
  auto const queued = join("b", 2).ticket.flight;
  *flights.state(begun) = true;
  EXPECT_EQ(join("a", 3).outcome, join_outcome::joined);
  flights.fence();
  auto const fresh = join("a", 4);
  EXPECT_EQ(fresh.outcome, join_outcome::leader);
  *flights.state(fresh.ticket.flight) = true;
  EXPECT_EQ(join("a", 5).outcome, join_outcome::joined) << "it began behind the fence";
  EXPECT_EQ(join("b", 6).outcome, join_outcome::joined);
  *flights.state(queued) = true;
  EXPECT_EQ(join("b", 7).outcome, join_outcome::joined) << "so did this";
  EXPECT_EQ(flights.finish(begun), (std::vector<int>{1, 3}));
  EXPECT_EQ(flights.finish(queued), (std::vector<int>{2, 6, 7}));
  EXPECT_EQ(flights.finish(fresh.ticket.flight), (std::vector<int>{4, 5}));
}

TEST(flight_table, TheOwnersStateLivesAsLongAsTheFlight) {
  table flights;
  auto const flight = flights.join("a", 1).ticket.flight;
  *flights.state(flight) = 42;
  flights.join("a", 2);
  EXPECT_EQ(*flights.state(flight), 42);
  flights.finish(flight);
  EXPECT_EQ(flights.state(flight), nullptr);
}

TEST(flight_table, RefusesTheJoinerBeyondTheLimitOfAFlight) {
  table flights({.max_joiners_per_flight = 2});
  flights.join("a", 1);
  auto const last = flights.join("a", 2);
  EXPECT_EQ(last.outcome, join_outcome::joined);
  EXPECT_EQ(flights.join("a", 3).outcome, join_outcome::too_many_joiners);
  EXPECT_EQ(flights.join("b", 4).outcome, join_outcome::leader);
  flights.leave(last.ticket);
  EXPECT_EQ(flights.join("a", 5).outcome, join_outcome::joined);
}

TEST(flight_table, RefusesTheFlightBeyondTheLimit) {
  table flights({.max_flights = 2});
  auto const first = flights.join("a", 1).ticket.flight;
  EXPECT_EQ(flights.join("b", 2).outcome, join_outcome::leader);
  EXPECT_EQ(flights.join("c", 3).outcome, join_outcome::too_many_flights);
  flights.detach("a");
  EXPECT_EQ(flights.join("a", 4).outcome, join_outcome::too_many_flights)
      << "a detached flight runs, too";
  flights.finish(first);
  EXPECT_EQ(flights.join("c", 5).outcome, join_outcome::leader);
}

TEST(flight_table, RefusesTheJoinerBeyondTheLimitOfAllFlights) {
  table flights({.max_joiners = 2});
  flights.join("a", 1);
  auto const b = flights.join("b", 2).ticket.flight;
  EXPECT_EQ(flights.join("a", 3).outcome, join_outcome::too_many_joiners);
  flights.finish(b);
  EXPECT_EQ(flights.join("a", 4).outcome, join_outcome::joined);
}

TEST(flight_table, ARefusedJoinerIsNotMovedFrom) {
  flight_table<std::unique_ptr<int>, int, flights_in_a_map> flights({.max_flights = 0});
  auto joiner = std::make_unique<int>(1);
  EXPECT_FALSE(flights.join("a", std::move(joiner)).accepted());
  EXPECT_TRUE(joiner);
}

// A caller that comes and goes must not make the flight grow.
TEST(flight_table, APlaceIsUsedAgain) {
  table flights;
  flights.join("a", 0);
  std::uint32_t highest = 0;
  for (int i = 0; i < 1000; ++i) {
    auto const ticket = flights.join("a", int(i)).ticket;
    highest = std::max(highest, ticket.slot);
    flights.leave(ticket);
  }
  EXPECT_EQ(highest, 1u);
}

// Against a model that is obviously right: for each flight the list of those who wait.
TEST(flight_table, BehavesLikeAListOfJoinersPerFlight) {
  EXPECT_TRUE(rc::check([] {
    table flights;
    std::map<std::uint64_t, std::vector<int>> model;
    std::vector<std::pair<flight_ticket, int>> tickets;
    int next = 0;
    auto const steps = *rc::gen::container<std::vector<std::pair<int, unsigned>>>(
        rc::gen::pair(rc::gen::inRange(0, 8), rc::gen::arbitrary<unsigned>()));
    for (auto [what, choice] : steps) {
      std::string const key(1, static_cast<char>('a' + choice % 3));
      if (what < 4) {
        int const me = next++;
        auto const reply = flights.join(key, int(me));
        auto const id = reply.ticket.flight.value;
        RC_ASSERT((reply.outcome == join_outcome::leader) == !model.contains(id));
        model[id].push_back(me);
        tickets.emplace_back(reply.ticket, me);
      } else if (what < 6 && !tickets.empty()) {
        auto const [ticket, me] = tickets[choice % tickets.size()];
        auto flight = model.find(ticket.flight.value);
        bool const waits = flight != model.end() && std::erase(flight->second, me) == 1;
        auto const left = flights.leave(ticket);
        RC_ASSERT(left.joiner.has_value() == waits);
        if (waits) RC_ASSERT(*left.joiner == me && left.remaining == flight->second.size());
      } else if (what == 6) {
        flights.detach(key);
      } else if (!tickets.empty()) {
        auto const id = tickets[choice % tickets.size()].first.flight;
        RC_ASSERT(flights.finish(id) == model[id.value]);
        model.erase(id.value);
      }
      std::size_t waiting = 0;
      for (auto const& [id, joiners] : model) waiting += joiners.size();
      RC_ASSERT(flights.flights() == model.size());
      RC_ASSERT(flights.joiners() == waiting);
    }
  }));
}

}  // namespace
}  // namespace herdlock::algo
