"""Each fault that counters of hot keys are known for is seen by a test that is named here.

    hot_mutants.py COMPILER INCLUDE_FOLDER...
"""

import sys

from mutants import Machine, run

HOT = Machine(("heat", "hot_key_state", "hot_ledger", "hot_shard", "hot_sketch",
               "cache/fleet/hot_counter", "local/shard_lock", "local/thread_number"),
              ("hot_counter_test", "hot_key_state_test", "hot_ledger_test", "hot_shard_test",
               "hot_sketch_test"))

# what goes wrong, where, the text, its replacement, the test that sees it
MUTANTS = [
# The window.
    ("the sketch has no window", HOT,
     "cell = {0, cell.live};", "cell = {0, cell.live + cell.previous};",
     "HotSketch.AHalfIsForgottenAsAWholeAfterTwo"),
    ("a counter has no window", HOT,
     "one.previous = std::exchange(one.live, {});", "one.previous += std::exchange(one.live, {});",
     "HotShard.AKeyThatWasNotUsedInAHalfLosesItsCounter"),
    ("what the sketch said before stays in the bounds for ever", HOT,
     "one.before = {0, one.before.live};", "",
     "HotShard.CountsAreExactAfterAWindow"),
# Bounds.
    ("sketches decay and are merged", HOT,
     "cell = {0, cell.live};", "cell = {0, cell.live / 2};",
     "HotSketch.ItNeverSaysTooLittle"),
    ("a counter is believed to know all", HOT,
     "one.before = before;", "one.before = {};",
     "HotShard.EachTrueCountIsWithinItsBounds"),
    ("who loses a counter loses its count", HOT,
     "sketch_.add(one.hash, (one.fresh + one.live).sum());", "",
     "HotShard.EachTrueCountIsWithinItsBounds"),
    ("who loses a counter loses what it had in the half before", HOT,
     "sketch_.add_to_previous(one.hash, one.previous.sum());", "",
     "HotShard.EachTrueCountIsWithinItsBounds"),
    ("keys of one hash are one", HOT,
     "one.hash == key.hash && one.id() == key", "one.hash == key.hash",
     "HotShard.KeysOfOneHashAreToldApart"),
    ("the hash has no seed", HOT,
     "key_hash(key, seed_)", "key_hash(key, 0)",
     "HotCounter.AHashIsKnownToNobodyOutside"),
# Who holds a counter.
    ("one use more takes a counter", HOT,
     "return add_up(uses, add_up(uses / 8, 4));", "return uses;",
     "HotShard.KeysThatComeOnceDoNotTakeCountersFromEachOther"),
    ("counters change hands for one use more", HOT,
     "return add_up(uses, add_up(uses / 8, 4));", "return uses;",
     "HotShard.CountersDoNotChangeHandsForOneUseMore"),
    ("a key with its counter keeps it, however little it has", HOT,
     "if (had <= needed) {", "if (true) {",
     "HotShard.ManyUsesOfOneKeyTakeTheCounterOfOneWithLittle"),
    ("a key that is not used keeps its counter", HOT,
     "if (one.previous.sum() > 0) return;", "return;",
     "HotShard.AKeyThatWasNotUsedInAHalfLosesItsCounter"),
# Hot and cooled.
    ("a key cools at its first half without reads", HOT,
     "halves_to_cool = 3", "halves_to_cool = 1",
     "HotKeyState.TwoHalvesWithoutReadsDoNotCoolIt"),
    ("a key cools at the rate at which it becomes hot", HOT,
     "seconds_of(took), 0.5)", "seconds_of(took), 1)",
     "HotKeyState.AKeyBetweenHalfTheThresholdAndTheThresholdStaysAsItIs"),
    ("a key that cooled by writes is hot at once when they pause", HOT,
     "calm_left_ = std::max(calm_left_, limits.cool_time);", "",
     "HotKeyState.WritesInBurstsDoNotMakeItComeAndGo"),
    ("what is written whenever it is kept comes and goes", HOT,
     "doublings_ = std::min<std::uint8_t>(doublings_ + 1, most_calm_doublings);", "",
     "HotKeyState.WhatIsWrittenWheneverItIsKeptComesBackMoreAndMoreSeldom"),
    ("a key that was written too often once is never judged anew", HOT,
     "if (was_worth_it) doublings_ = 0;", "",
     "HotKeyState.AKeyThatWasCalmForLongIsJudgedAnew"),
    ("few reads in a moment are a rate", HOT,
     "run_.reads >= thresholds.min_reads", "true",
     "HotKeyState.FewReadsAreNotHotHoweverQuick"),
    ("writes do not keep a key from becoming hot", HOT,
     "!limits_of(thresholds).is_written_too_often(in_window(), 1)", "true",
     "HotKeyState.AKeyThatIsWrittenTooOftenIsNotHot"),
    ("an old burst makes a key hot later", HOT,
     "if (run_.took >= thresholds.half) run_ = {};", "",
     "HotKeyState.AnOldBurstDoesNotMakeAKeyHotLater"),
    ("a hot key cools before its minimum time", HOT,
     " && times.hot_for >= limits.min_hot_time", "",
     "HotKeyState.AHotKeyDoesNotCoolBeforeItsMinimumTime"),
# Time.
    ("a tick takes the time that it should take", HOT,
     "one.state.used(fresh, *took_, thresholds_);",
     "one.state.used(fresh, std::chrono::milliseconds(100), thresholds_);",
     "HotLedger.ATickThatWasHeldUpMakesNoKeyHot"),
    ("the time for which a tick is held up is forgotten", HOT,
     "took_ = last_ ? between(*last_, now)", "took_ = last_ ? between(*last_, begun_)",
     "HotLedger.ATickThatWasHeldUpBeforeItCameToTheShardsMakesNoKeyHot"),
    ("a time that goes back is no time, and its uses are the next tick's", HOT,
     "if (to < from) return std::nullopt;", "if (to < from) return clock::duration(0);",
     "HotLedger.ATimeThatGoesBackMeasuresNothing"),
# Bounded memory.
    ("any number of keys are hot", HOT,
     "if (hot_ >= most_hot_) {", "if (false) {",
     "HotLedger.NoMoreKeysAreHotThanMayBe"),
    ("keys are known for ever", HOT,
     "!state.hot() && state.in_window() == hot_uses{}", "false",
     "HotLedger.AKeyThatIsNotReadAnyMoreIsForgottenWithinTwoWindows"),
    ("any number of keys is known", HOT,
     "if (entries_.size() >= most_keys && !make_room()) return false;", "",
     "HotLedger.WhenAllRoomIsTakenThoseUsedLeastMakeRoom"),
]


if __name__ == "__main__":
    sys.exit(run(MUTANTS, sys.argv[1], sys.argv[2:]))
