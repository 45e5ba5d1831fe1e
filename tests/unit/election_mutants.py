"""Each fault of a closed election is seen by a test.

    election_mutants.py COMPILER INCLUDE_FOLDER...
"""

import sys

from mutants import Machine, run

ELECTION = Machine(("election_machine",), ("election_closing_test",))

# what goes wrong, where, the text, its replacement, the test that sees it
MUTANTS = [
    ("a close before the campaign is forgotten", ELECTION,
     "  closed_ = true;\n", "",
     "ElectionClosing.ACampaignThatComesBehindItDoesNotBegin"),
    ("a campaign begins behind a close", ELECTION,
     "closed_ && event == election_event::campaign", "false",
     "ElectionClosing.ItResignsFromTheCampaignThatStands"),
    ("a close does not resign", ELECTION,
     "return on(election_event::resign);", "return std::nullopt;",
     "ElectionClosing.ItResignsFromTheCampaignThatStands"),
    ("a close stops all that is still to come of the campaign", ELECTION,
     "closed_ && event == election_event::campaign", "closed_ && event != election_event::resign",
     "ElectionClosing.ATermThatIsBeingEndedIsGivenBackAllTheSame"),
    ("a resignation closes", ELECTION,
     "  if (!row) return std::nullopt;\n",
     "  closed_ = closed_ || event == election_event::resign;\n  if (!row) return std::nullopt;\n",
     "ElectionClosing.AResignationIsForOneCampaignOnly"),
]

if __name__ == "__main__":
    sys.exit(run(MUTANTS, sys.argv[1], sys.argv[2:]))
