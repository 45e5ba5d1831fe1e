// The machine of an election that its caller has closed: no campaign begins any more.
#include <gtest/gtest.h>

#include "algo/election_machine.hpp"

namespace herdlock::algo {
namespace {

// A resignation finds nothing to end then, and is forgotten: the campaign that comes behind it
// would lead for ever.
TEST(ElectionClosing, ACampaignThatComesBehindItDoesNotBegin) {
  election_machine machine;
  EXPECT_FALSE(machine.closed());
  EXPECT_FALSE(machine.close()) << "nothing is to be done";
  EXPECT_TRUE(machine.closed());
  EXPECT_FALSE(machine.on(election_event::campaign));
  EXPECT_EQ(machine.state(), election_state::idle);
}

TEST(ElectionClosing, ItResignsFromTheCampaignThatStands) {
  election_machine machine;
  machine.on(election_event::campaign);
  machine.on(election_event::granted);
  auto const row = machine.close();
  ASSERT_TRUE(row);
  EXPECT_EQ(row->action, election_action::stop_work);
  machine.on(election_event::stopped);
  machine.on(election_event::released);
  EXPECT_EQ(machine.state(), election_state::idle);
  EXPECT_FALSE(machine.on(election_event::campaign));
}

TEST(ElectionClosing, AResignationIsForOneCampaignOnly) {
  election_machine machine;
  EXPECT_FALSE(machine.on(election_event::resign));
  EXPECT_FALSE(machine.closed());
  EXPECT_TRUE(machine.on(election_event::campaign));
}

// What has begun ends as it does without it: the rows are all there.
TEST(ElectionClosing, ATermThatIsBeingEndedIsGivenBackAllTheSame) {
  election_machine machine;
  machine.on(election_event::campaign);
  machine.on(election_event::granted);
  machine.on(election_event::lost);
  machine.close();
  EXPECT_TRUE(machine.on(election_event::overdue));
  EXPECT_TRUE(machine.on(election_event::stopped));
  EXPECT_TRUE(machine.on(election_event::released));
}

}  // namespace
}  // namespace herdlock::algo
