"""Each fault of what a lease does behind a new connection is seen by a test.

    lease_mutants.py COMPILER INCLUDE_FOLDER...
"""

import sys

from mutants import Machine, run

LEASE = Machine(("lease_machine",), ("lease_renew_by_test",))

# what goes wrong, where, the text, its replacement, the test that sees it
MUTANTS = [
    ("a new connection is not looked at", LEASE,
     "  renew_by_ = std::min(at, renew_by_.value_or(at));\n  hasten_renewal();\n", "",
     "LeaseRenewBy.ANewConnectionBringsTheRenewalForward"),
    ("news put a renewal off", LEASE,
     "if (renew_by_) renew_at_ = std::min(renew_at_, *renew_by_);",
     "if (renew_by_) renew_at_ = *renew_by_;",
     "LeaseRenewBy.ANewConnectionPutsNoRenewalOff"),
    ("later news put earlier ones off", LEASE,
     "renew_by_ = std::min(at, renew_by_.value_or(at));", "renew_by_ = renew_at_ = at;",
     "LeaseRenewBy.ANewConnectionPutsNoRenewalOff"),
    ("the answer of the server before counts", LEASE,
     "  failures_ = 0;\n  hasten_renewal();\n", "  failures_ = 0;\n",
     "LeaseRenewBy.WhatIsUnderWayDoesNotCountForANewConnection"),
    ("a renewal that failed is tried again at its leisure", LEASE,
     "  renew_at_ = now + scaled(pause, 0.5 + random);\n  hasten_renewal();\n",
     "  renew_at_ = now + scaled(pause, 0.5 + random);\n",
     "LeaseRenewBy.WhatIsUnderWayDoesNotCountForANewConnection"),
    ("news last for ever", LEASE,
     "  renew_by_.reset();\n", "",
     "LeaseRenewBy.WhatIsUnderWayDoesNotCountForANewConnection"),
    ("a look that failed is repeated at the leisure of a long ttl", LEASE,
     "    pause = std::min(pause, *next_look_in_);\n", "",
     "LeaseRenewBy.ALookWithoutAnAnswerIsRepeatedSoonAndThenLater"),
    ("looks that fail are as quick as the first", LEASE,
     "std::min<clock::duration>(*next_look_in_ * 2, validity_)", "*next_look_in_",
     "LeaseRenewBy.ALookWithoutAnAnswerIsRepeatedSoonAndThenLater"),
    ("the time to the next look overflows", LEASE,
     "std::min<clock::duration>(*next_look_in_ * 2, validity_)", "*next_look_in_ * 2",
     "LeaseRenewBy.LooksThatFailForeverAreNotRepeatedWithoutAPause"),
    ("a connection that comes and goes begins anew", LEASE,
     "if (renew_by_ && !next_look_in_)", "if (renew_by_)",
     "LeaseRenewBy.ALookWithoutAnAnswerIsRepeatedSoonAndThenLater"),
    ("each later failure is a look's", LEASE,
     "  next_look_in_.reset();\n", "",
     "LeaseRenewBy.ALookWithoutAnAnswerIsRepeatedSoonAndThenLater"),
    ("a short ttl's renewal waits for the look", LEASE,
     "std::min(pause, *next_look_in_)", "*next_look_in_",
     "LeaseRenewBy.ALookWithoutAnAnswerIsRepeatedNoLaterThanARenewal"),
    ("a lease that is not renewed waits for a renewal", LEASE,
     "bool const planned = state_ == lease_state::held && may_renew(renew_at_);",
     "bool const planned = state_ == lease_state::held;",
     "LeaseRenewBy.ANewConnectionRenewsNothingThatIsNotRenewed"),
    ("a lease that was given back comes back to life", LEASE,
     "  if (over()) return {};\n  renew_by_", "  renew_by_",
     "LeaseRenewBy.ANewConnectionRenewsNothingThatIsNotRenewed"),
    ("a long ttl waits long", LEASE,
     "std::min(shortest_ttl / 10, milliseconds{1000})", "shortest_ttl / 10",
     "LeaseRenewBy.ANewConnectionIsFollowedWithinATenthOfTheTtlAndASecond"),
]


if __name__ == "__main__":
    sys.exit(run(MUTANTS, sys.argv[1], sys.argv[2:]))
