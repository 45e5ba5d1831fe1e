"""Each fault that a cache's life could have is seen by a test that is named here.

    freshness_mutants.py COMPILER INCLUDE_FOLDER...
"""

import sys

from mutants import Machine, run

FRESHNESS = Machine(("freshness",), ("freshness_test",))
LOAD = Machine(("load_machine",), ("load_machine_test", "load_with_answer_test"))

# what goes wrong, where, the text, its replacement, the test that sees it
MUTANTS = [
    ("each caller begins a refresh", FRESHNESS,
     "if (!state || state->refresh != 0) return", "if (!state) return",
     "Freshness.OneRefreshPerKeyIsUnderWayHoweverManyAreElected"),
    ("a stale value is served after invalidate", FRESHNESS,
     "bool const alive = copy.kept_at > state.killed_at;", "bool const alive = true;",
     "Freshness.AStaleCopyIsNotServedAfterInvalidateAndIsAfterExpire"),
    ("a load that comes too late is stored", LOAD,
     "if (claim_ != claim::held) {\n    auto plan = finish(result_);",
     "if (claim_ == claim::none) {\n    auto plan = finish(result_);",
     "LoadMachine.ALostClaimIsSignalledAndItsValueIsNotStored"),
    ("an error beats a stale value", FRESHNESS,
     "(how == wait_end::soft_timeout || policy_.fail_safe)", "how == wait_end::soft_timeout",
     "Freshness.AStaleCopyIsTheAnswerAfterTheSoftTimeoutAndInsteadOfAnError"),
    ("a success does not clear the back-off", FRESHNESS,
     "if (key_state* const state = find(key)) state->succeeded();", "find(key);",
     "Freshness.BackOffGrowsWithFailuresInARowAndASuccessClearsIt"),
    ("the success of another does not clear the back-off", FRESHNESS,
     "times.made != std::exchange(state.made, times.made)", "false",
     "Freshness.AnotherEntryAfterTheFailureIsASuccessOfSomebodyElse"),
    ("an entry that was there before the failure clears the back-off", FRESHNESS,
     "times.made != std::exchange(state.made, times.made)", "true",
     "Freshness.AnEarlyRefreshThatFailedLeavesTheFreshEntryServedAndIsNotTriedAtOnce"),
    ("a caller who waits does not note which entry was there", FRESHNESS,
     "  state->made = times.made;\n  ++state->kept;", "  ++state->kept;",
     "Freshness.TheEntryThatWasThereIsNoSuccessWhateverTheClocksSay"),
    ("the end of a voided refresh ends the next one", FRESHNESS,
     "if (!state || state->refresh != refresh) return;", "if (!state) return;",
     "Freshness.ExpireEndsTheRefreshUnderWaySoThatTheNextBeginsAtOnce"),
    ("a refresh begins during the back-off", FRESHNESS,
     "now < state->not_before || now < state->failing_until", "now < state->not_before",
     "Freshness.AnEarlyRefreshThatFailedLeavesTheFreshEntryServedAndIsNotTriedAtOnce"),
    ("a key that fails at the bound makes all others be looked at", FRESHNESS,
     "hand_.step(keys_, [now]", "for (int i = 0; i < 100; ++i) hand_.step(keys_, [now]",
     "Freshness.AtTheLimitAKeyThatFailsLooksAtFewOfTheOthers"),
    ("nobody answers who has had his answer voided", LOAD,
     "if (settings_.caller_waits && settings_.behind_answer) abandoned_ = false;", "",
     "Waiting/LoadWithAnswer.WhoseAnswerWasVoidedWaitsForAnothersLoad/0"),
    ("a put revives the load of a call that is over", LOAD,
     "if (settings_.caller_waits && settings_.behind_answer) abandoned_ = false;",
     "if (settings_.caller_waits) abandoned_ = false;",
     "Waiting/LoadWithAnswer.WhatIsVoidedAfterHeHasLeftDoesNotBegin/0"),
    ("the claim of a call that is over is joined", LOAD,
     "return {.detach = settings_.caller_waits};", "return {};",
     "Waiting/LoadWithAnswer.WhenHeHasLeftItsClaimNobodyJoins/0"),
]


if __name__ == "__main__":
    sys.exit(run(MUTANTS, sys.argv[1], sys.argv[2:]))
