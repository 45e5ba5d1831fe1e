"""Each fault that the exchange of hot keys is known for is seen by a test that is named here.

    fleet_mutants.py COMPILER INCLUDE_FOLDER...
"""

import sys

from mutants import Machine, run

FLEET = Machine(("fleet_report", "hot_fleet"), ("hot_fleet_test", "fleet_report_test"))
TELLER = Machine(("fleet_report", "fleet_teller"), ("fleet_teller_test",))

# what goes wrong, where, the text, its replacement, the test that sees it
MUTANTS = [
    ("a doubled report counts again", FLEET,
     "if (report.number <= known->second.newest.number)",
     "if (report.number < known->second.newest.number)",
     "HotFleet.OfAProcessTheNewestReportCountsAndOnce"),
    ("a late report replaces a newer one", FLEET,
     "if (report.number <= known->second.newest.number) return fleet_hearing::old;", "",
     "HotFleet.OfAProcessTheNewestReportCountsAndOnce"),
    ("an old report keeps a dead process alive", FLEET,
     "return fleet_hearing::old;",
     "{ known->second.heard = now; return fleet_hearing::old; }",
     "HotFleet.AProcessThatSaysNothingNewAgesOut"),
    ("a dead process counts for ever", FLEET,
     "return now - each.second.heard >= rules_.silence;", "return false;",
     "HotFleet.AProcessThatSaysNothingNewAgesOut"),
    ("who does not name a key is taken not to read it", FLEET,
     "sum.high += rest - sum.rest;", "sum.high += 0;",
     "HotFleet.SumsAreBoundsThatHoldAlsoForThoseWhoDoNotNameTheKey"),
    ("a key is hot by what it may have", FLEET,
     "double const reads = double(sum.low);", "double const reads = double(sum.high);",
     "HotFleet.WhatMayBeReadOftenIsNotHot"),
    ("a hot key needs the whole threshold to stay", FLEET,
     "is_read(found->second, 0.5)", "is_read(found->second, 1)",
     "HotFleet.AHotKeyCoolsWhenItWasBelowHalfForLongEnough"),
    ("a hot key cools at once", FLEET,
     "now - *low_since >= rules_.cool_time", "true",
     "HotFleet.AHotKeyCoolsWhenItWasBelowHalfForLongEnough"),
    ("the time below half is never forgotten", FLEET,
     "low_since.reset();", "",
     "HotFleet.OneThatIsReadAgainMeanwhileStays"),
    ("whatever is written is kept", FLEET,
     "reads >= double(sum.writes) * rules_.reads_per_write * share", "true",
     "HotFleet.WhatAllTogetherWriteTooOftenIsNotHot"),
    ("each process names what has the threshold", FLEET,
     "rules_.threshold / (4 * processes)", "rules_.threshold / (2 * processes)",
     "HotFleet.AKeyAtTheThresholdIsHotByWhatHasToBeNamed"),
    ("names decide who is hot", FLEET,
     "return a->second.low > b->second.low;", "return false;",
     "HotFleet.WhereThereIsNoRoomForAllThoseReadMostAreHot"),
    ("the fleet waits behind the process", FLEET,
     "(!by_sums || ", "(",
     "HotFleet.WhatAProcessDoesNotCallHotAnyMoreCoolsAtOnce"),
    ("each write of a hot key counts once for each process", FLEET,
     "is_hot(each.key) ?", "false ?",
     "HotFleet.TheWritesOfAHotKeyAreCountedOnce"),
    ("a report that is not plausible is believed", FLEET,
     "if (!is_plausible(report)) return fleet_hearing::refused;", "",
     "HotFleet.WhatIsNotPlausibleIsRefused"),
    ("a report with something behind it is believed", FLEET,
     "return good_ && rest_.empty();", "return good_;",
     "FleetReport.OneThatIsCutShortAnywhereIsRefused"),
    ("hot keys wait for the next second", TELLER,
     "return one.hot && !told_hot_.contains(one.key);", "return false;",
     "FleetTeller.AKeyThatHasBecomeHotIsToldOfAtOnceTenTimesASecondAtMost"),
    ("hot keys are told of without a pause", TELLER,
     "if (passed < least_gap) return false;", "",
     "FleetTeller.AKeyThatHasBecomeHotIsToldOfAtOnceTenTimesASecondAtMost"),
    ("who was named has no place of its own", TELLER,
     "return std::tuple(one.hot, told_hot_.contains(one.key), one.high);",
     "return std::tuple(one.hot, false, one.high);",
     "FleetTeller.HotKeysForWhichThereIsNoRoomAreNoNewsByTurns"),
    ("the end is not told", TELLER,
     "return !named.empty() || has_named_;", "return !named.empty();",
     "FleetTeller.ThatThereIsNothingAnyMoreIsSaidOnce"),
    ("what is left out bounds nothing", TELLER,
     "rest = std::max(rest, one.high);", "",
     "FleetTeller.WhatMayHaveItsShareIsNamedAndTheRestIsBounded"),
]


if __name__ == "__main__":
    sys.exit(run(MUTANTS, sys.argv[1], sys.argv[2:]))
