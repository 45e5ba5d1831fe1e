"""Each fault that tags are known for is seen by a test that is named here.

    tags_mutants.py COMPILER INCLUDE_FOLDER...
"""

import sys

from mutants import Machine, run

TAGS = Machine(("tag_check", "entry_tags"), ("tag_check_test",))
BYTES = Machine(("entry_tags", "entry_header"), ("entry_tags_test",))

# what goes wrong, where, the text, its replacement, the test that sees it
MUTANTS = [
    ("generations are compared by order", TAGS,
     "known->found->now.lives != one.made_in.lives", "known->found->now.lives > one.made_in.lives",
     "TagCheck.GenerationsAreComparedForEqualityAndNotByOrder"),
    ("a missing record is one of generation 0", TAGS,
     "!known->found || known->found->now.lives != one.made_in.lives",
     "(known->found ? known->found->now.lives : 0) != one.made_in.lives",
     "TagCheck.WithoutARecordTheTagHasChanged"),
    ("a record from before the entry ends it", TAGS,
     "return is_newer ? how : tag_verdict::ask;", "return how;",
     "TagCheck.ARecordFromBeforeTheEntryDoesNotEndIt"),
    ("what is known of a tag is known for ever", TAGS,
     " && now - known.sent <= max_age_", "",
     "TagCheck.AnEntryThatAgreesIsFreshForTheAgeOfTheRecordAndNoLonger"),
    ("a slow reply is too old for who asked", TAGS,
     "known.sent >= since || ", "",
     "TagCheck.ARecordThatWasAskedForBehindTheEntryIsNeverTooOldForIt"),
    ("expire_tag is not seen before somebody loads", TAGS,
     "known->found->made_stale ? tag_verdict::stale", "false ? tag_verdict::stale",
     "TagCheck.ARecordThatWasMadeStaleMakesItsEntriesStale"),
    ("a late reply brings an old record back", TAGS,
     "if (sent < known.sent) return;", "",
     "TagCheck.AReplyThatComesLateIsNoNews"),
    ("a record that is read again is a new one", TAGS,
     "same ? std::min(since, known) : known", "known",
     "TagCheck.ARecordIsKnownSinceTheFirstAnswerWithItsGenerations"),
    ("a record is known before its reading was answered", TAGS,
     "known.is(found, came);", "known.is(found, sent);",
     "TagCheck.ARecordIsKnownSinceTheFirstAnswerWithItsGenerations"),
    ("a read that was on its way undoes an own change", TAGS,
     " || known.sent < known.own.last", "",
     "TagCheck.WhatWasAskedBeforeAnOwnChangeSaysNothing"),
    ("a fence leaves what is known", TAGS,
     "known.sent >= asked_since_ && ", "",
     "TagCheck.BehindAFenceAllTagsAreAskedForAnew"),
    ("a fence makes what was read for others worthless", TAGS,
     "known.sent >= since || (known.sent >= asked_since_ && now - known.sent <= max_age_)",
     "known.sent >= asked_since_ && (known.sent >= since || now - known.sent <= max_age_)",
     "TagCheck.AFenceConcernsNobodyWhoCameBeforeIt"),
    ("one tag that is fresh makes the entry fresh", TAGS,
     "worst_ = std::max(worst_, one);", "worst_ = one;",
     "TagCheck.TheWorstOfAnEntrysTagsCounts"),
    ("a tag that is not known counts as unchanged", TAGS,
     "return asks_ && worst_ != tag_verdict::gone ? tag_verdict::ask : worst_;", "return worst_;",
     "TagCheck.TheWorstOfAnEntrysTagsCounts"),
    ("a load takes the generation that expire_tag ended", TAGS,
     "found && !found->made_stale && found->ends", "found && found->ends",
     "TagCheck.ALoadWritesARecordAnewThatWasMadeStale"),
    ("a record ends before its entries", TAGS,
     " && found->ends >= span.ends", "",
     "TagCheck.ALoadWritesARecordAnewThatEndsBeforeTheEntry"),
    ("what is forgotten at the bound may be undone", TAGS,
     "known_tag{.own = forgotten_}", "known_tag{}",
     "TagCheckBound.BeyondItSomeTagsAreForgottenAndNothingThatIsOnItsWayCounts"),
    ("an end that is forgotten has not been", TAGS,
     "(at == known_.end() ? forgotten_ : at->second.own).end >= kept",
     "at != known_.end() && at->second.own.end >= kept",
     "TagCheckBound.AnEndThatIsForgottenIsTakenForTheEndOfAnyTag"),
    ("what is kept lives on when its tag has ended", TAGS,
     "make(tag)->own = {now, now};", "make(tag)->own.last = now;",
     "TagCheck.WhoHasKeptAnEntryUntilItsTagEndedHasNothing"),
    ("a tag that comes at the bound makes all others be looked at", TAGS,
     "hand_.step(known_,", "std::size_t looked = 0;\n    for (; looked < known_.size(); looked += "
     "16) hand_.step(known_,",
     "TagCheckBound.EachNewTagLooksAtFewOfTheOthers"),
    ("an unknown extension makes an entry unreadable", BYTES,
     "kind == kind_of_tags && !take_tags(*body, tags)", "!take_tags(*body, tags)",
     "EntryTags.AnExtensionThatIsNotKnownIsSkipped"),
    ("more tags than an entry can have are read", BYTES,
     " || into.size() >= most_entry_tags", "",
     "EntryTags.AsManyAndAsLongOnesAsAreAllowedFitIntoAHeader"),
    ("a name is read beyond its end", BYTES,
     "if (rest.size() < bytes) return std::nullopt;",
     "if (rest.size() < bytes) return rest;",
     "EntryTags.WhatIsCutOrDamagedIsNotRead"),
]


if __name__ == "__main__":
    sys.exit(run(MUTANTS, sys.argv[1], sys.argv[2:]))
