"""Each fault of how a refused leave is repeated is seen by a test.

    leaves_mutants.py COMPILER INCLUDE_FOLDER...
"""

import sys

from mutants import Machine, run

LEAVES = Machine(("unanswered_leaves",), ("unanswered_leaves_test",))

# what goes wrong, where, the text, its replacement, the test that sees it
MUTANTS = [
    ("a refused leave is forgotten", LEAVES,
     "  auto action = keep(number);", "  leave_action action; (void)number;",
     "UnansweredLeaves.OneThatIsRefusedIsSentUntilItIsAnswered"),
    ("it is tried twice only", LEAVES,
     "  pausing_ = false;\n", "",
     "UnansweredLeaves.OneThatIsRefusedIsSentUntilItIsAnswered"),
    ("each refused leave has a pause of its own", LEAVES,
     "if (!std::exchange(pausing_, true)) action", "action",
     "UnansweredLeaves.InTroubleOneIsTriedAndAllOthersFollowIt"),
    ("a server that refuses is asked by all", LEAVES,
     "if (in_trouble_) return keep(number);", "",
     "UnansweredLeaves.InTroubleOneIsTriedAndAllOthersFollowIt"),
    ("the others do not follow", LEAVES,
     "return {.send = {all.begin(), all.end()}};", "return {};",
     "UnansweredLeaves.InTroubleOneIsTriedAndAllOthersFollowIt"),
    ("after an answer it waits long", LEAVES,
     "  in_trouble_ = false;\n  pause_.reset();\n  auto", "  in_trouble_ = false;\n  auto",
     "UnansweredLeaves.ThePausesGrowToTwoSecondsAndBeginAnewAfterAnAnswer"),
    ("the leaves of a session that is over are sent in the next", LEAVES,
     "  kept_.clear();\n", "",
     "UnansweredLeaves.NothingIsKeptOfASessionThatIsOver"),
    ("trouble outlives its session", LEAVES,
     "  pause_.reset();\n  in_trouble_ = false;\n}", "  pause_.reset();\n}",
     "UnansweredLeaves.NothingIsKeptOfASessionThatIsOver"),
    ("with nothing to try the trouble has no end", LEAVES,
     "  in_trouble_ = !kept_.empty();\n  if (!in_trouble_) return {};\n",
     "  if (kept_.empty()) return {};\n",
     "UnansweredLeaves.WhoIsBackDoesNotLeave"),
    ("there is no bound", LEAVES,
     "if (kept_.size() > max_kept_leaves) action", "if (false) action",
     "UnansweredLeaves.TheyAreBounded"),
]


if __name__ == "__main__":
    sys.exit(run(MUTANTS, sys.argv[1], sys.argv[2:]))
