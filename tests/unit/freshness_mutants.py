"""Each fault that a cache's life could have is seen by a test that is named here.

    freshness_mutants.py COMPILER INCLUDE_FOLDER...
"""

import sys

from mutants import Machine, run

FRESHNESS = Machine(("freshness", "key_records"), ("freshness_test",))
RECORDS = Machine(("key_records",), ("key_records_test",))
ANSWERS = Machine(("unstored_answers", "key_records"), ("unstored_answers_test",))
LOAD = Machine(("load_machine",), ("load_machine_test", "load_with_answer_test"))

# what goes wrong, where, the text, its replacement, the test that sees it
MUTANTS = [
    ("each caller begins a refresh", FRESHNESS,
     "if (!at.make(key) || at->refresh.refresh != 0) return", "if (!at.make(key)) return",
     "Freshness.OneRefreshPerKeyIsUnderWayHoweverManyAreElected"),
    ("a stale value is served after invalidate", FRESHNESS,
     "bool const alive = copy.kept_at > at->killed_at;", "bool const alive = true;",
     "Freshness.AStaleCopyIsNotServedAfterInvalidateAndIsAfterExpire"),
    ("a load that comes too late is stored", LOAD,
     "if (claim_.hold != claim::held) {\n    auto plan = finish(result_);",
     "if (claim_.hold == claim::none) {\n    auto plan = finish(result_);",
     "LoadMachine.ALostClaimIsSignalledAndItsValueIsNotStored"),
    ("an error beats a stale value", FRESHNESS,
     "(how == wait_end::soft_timeout || policy_.fail_safe)", "how == wait_end::soft_timeout",
     "Freshness.AStaleCopyIsTheAnswerAfterTheSoftTimeoutAndInsteadOfAnError"),
    ("a success does not clear the back-off", FRESHNESS,
     "  if (at) at->refresh.succeeded();", "",
     "Freshness.BackOffGrowsWithFailuresInARowAndASuccessClearsIt"),
    ("the success of another does not clear the back-off", FRESHNESS,
     "times.made != std::exchange(at->refresh.made, times.made)", "false",
     "Freshness.AnotherEntryAfterTheFailureIsASuccessOfSomebodyElse"),
    ("an entry that was there before the failure clears the back-off", FRESHNESS,
     "times.made != std::exchange(at->refresh.made, times.made)", "true",
     "Freshness.AnEarlyRefreshThatFailedLeavesTheFreshEntryServedAndIsNotTriedAtOnce"),
    ("a caller who waits does not note which entry was there", FRESHNESS,
     "  at->refresh.made = times.made;\n  ++at->refresh.kept;", "  ++at->refresh.kept;",
     "Freshness.TheEntryThatWasThereIsNoSuccessWhateverTheClocksSay"),
    ("the end of a voided refresh ends the next one", FRESHNESS,
     "if (!at || at->refresh.refresh != refresh) return;", "if (!at) return;",
     "Freshness.ExpireEndsTheRefreshUnderWaySoThatTheNextBeginsAtOnce"),
    ("a refresh begins during the back-off", FRESHNESS,
     "now < state.not_before || now < state.failing_until", "now < state.not_before",
     "Freshness.AnEarlyRefreshThatFailedLeavesTheFreshEntryServedAndIsNotTriedAtOnce"),
    ("what is known of keys has no bound", RECORDS,
     "while (bytes_ + bytes > most_bytes_ && ", "while (false && ",
     "KeyRecords.TheOldestOfThoseThatNobodyWorksAtMakesRoom"),
    ("there is room for all", RECORDS,
     "return bytes_ + bytes <= most_bytes_;", "return true;",
     "KeyRecords.ThoseThatAreInUseStayAndNewOnesAreRefused"),
    ("the newest failure makes room", RECORDS,
     "if (!in_use) idle_.push_back(changed);", "if (!in_use) idle_.push_front(changed);",
     "KeyRecords.TheOldestOfThoseThatNobodyWorksAtMakesRoom"),
    ("a key that is worked at makes room", RECORDS,
     "if (!in_use) idle_.push_back(changed);", "idle_.push_back(changed);",
     "KeyRecords.ThoseThatAreInUseStayAndNewOnesAreRefused"),
    ("what is over stays until there is no room", RECORDS,
     "if (&*at != &but && at->spent(now_)) forget(*at);", "",
     "KeyRecords.WhatIsOverIsFoundAsOthersChange"),
    ("what has gone still counts", RECORDS,
     "bytes_ -= one.counted_;", "", "KeyRecords.BytesAreThoseOfWhatIsThere"),
    ("an answer of before a fence is given behind it", ANSWERS,
     "if (began <= fenced_ || ", "if (", "UnstoredAnswers.BehindAFenceLoadsOfBeforeAnswerNobody"),
    ("what was loaded without the store answers whoever asks", ANSWERS,
     "guard == load_guard::unguarded || record", "true || record",
     "UnstoredAnswers.OneThatWasLoadedWithoutTheStoreAnswersInPlaceOfSuchALoad"),
    ("an answer is given for ever", ANSWERS,
     "|| record->answer->until <= now) return nullptr;", ") return nullptr;",
     "UnstoredAnswers.AnAnswerIsGivenUntilItsTimeIsUp"),
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
