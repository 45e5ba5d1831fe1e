"""Each fault that caches near the caller are known for is seen by a test that is named here.

    near_mutants.py COMPILER INCLUDE_FOLDER...
"""

import sys

from mutants import Machine, run

NEAR = Machine(("near_machine", "near_server", "near_stamps", "connection_trust"),
               ("near_machine_test", "near_trust_test", "near_entries_test"))
TABLE = Machine(("local/near_table", "local/near_order", "local/near_record",
                 "local/near_thread_cache", "local/hot_counter", "local/shard_lock",
                 "local/thread_number", "hot_shard", "hot_sketch"),
                ("near_table_test", "near_table_threads_test", "near_table_supports_test"))

# what goes wrong, where, the text, its replacement, the test that sees it
MUTANTS = [
    # Stamps and own writes.
    ("it checks, then inserts", NEAR,
     "at(key).writes == 0 && of(key) == stamp", "at(key).writes == 0",
     "NearMachine.AFillIsJudgedWhenItIsInsertedAndNotWhenItsReplyCame"),
    ("a push drops what is kept and not what is on its way", NEAR,
     "stamps_.changed(key);\n    out", "out",
     "NearMachine.APushBetweenTheReadAndItsReplyRefusesTheFill"),
    ("an own write does not change the stamp when it ends", NEAR,
     "  ++of_key.changes;\n", "",
     "NearMachine.AReadThatWasSentDuringAnOwnWriteIsRefusedAfterIt"),
    ("a key is kept while an own write of it is under way", NEAR,
     "at(key).writes == 0 && of(key) == stamp", "of(key) == stamp",
     "NearMachine.NothingIsKeptOfAKeyWhileAnOwnWriteIsUnderWay"),
    ("NOLOOP in default mode", NEAR,
     '"ON", "OPTIN"}', '"ON", "OPTIN", "NOLOOP"}',
     "NearMachine.TrackingIsAskedForWithoutNoloopAndWithoutRedirect"),
    # Generations.
    ("a pending fill survives a flush", NEAR,
     "|| stamp.values != values_", "",
     "NearMachine.AFlushDropsWhatIsKeptAndRefusesWhatIsOnItsWay"),
    ("what is kept survives a flush", NEAR,
     "one->renew(out);\n    one->push_handled(out);", "one->push_handled(out);",
     "NearMachine.AFlushDropsWhatIsKeptAndRefusesWhatIsOnItsWay"),
    ("a reconnect begins no generation", NEAR,
     "  one->end(out);\n  servers_.erase(which);", "  servers_.erase(which);",
     "NearMachine.ALostConnectionDropsWhatWasReadAndItsLateRepliesAreRefused"),
    ("it fills before the server pushes", NEAR,
     "if (coverage_ == near_coverage::off) return std::nullopt;", "",
     "NearMachine.NothingMayFillBeforeTheServerPushes"),
    # Trust and fences.
    ("a PONG is believed before the pushes in front of it", NEAR,
     "one.pushes_before && *one.pushes_before <= pushes_handled_", "!!one.pushes_before",
     "NearMachine.APongIsNotBelievedBeforeThePushesInFrontOfIt"),
    ("a PONG counts from the last PING that was sent", NEAR,
     "last->sent + max_staleness_", "last_sent_ + max_staleness_",
     "NearMachine.APongThatComesTooLateIsWorthNothingAndTheNextOneRevivesWhatIsKept"),
    ("a PONG of a PING from before the fence lets it pass", NEAR,
     "fence_ping_ = last_ping_;", "fence_ping_ = trust_.believed() + 1;",
     "NearMachine.AFencePassesWithThePongOfAPingThatWasSentForIt"),
    ("a fence waits for a server that hangs", NEAR,
     "each.fence_lapses(out);", "continue;",
     "NearMachine.AFenceOverAServerThatHangsPassesWhenItIsNotTrustedAnyMore"),
    ("what a hung server may have missed is revived behind the fence", NEAR,
     "  renew(out);\n  fence_ping_ = 0;", "  fence_ping_ = 0;",
     "NearMachine.AFenceOverAServerThatHangsPassesWhenItIsNotTrustedAnyMore"),
    ("a fence takes one that is not trusted as it is", NEAR,
     "    renew(out);\n    return false;", "    return false;",
     "NearMachine.AFenceOverAServerThatIsNotTrustedPassesAtOnceAndDropsWhatWasRead"),
    ("PINGs pile up at a server that hangs", NEAR,
     "if (trust_.enough_pings()) return trust_.skip_ping(now);", "",
     "NearMachine.PingsGoOnAtEachThirdAndAreBoundedWhereNobodyAnswers"),
    # Slots and negative entries.
    ("a negative entry outlives the move of its slot", NEAR,
     "expires = std::min(expires, after(stamp.sent, settings_.max_staleness));", "",
     "NearCluster.ANegativeEntryLivesForMaxStalenessAtMost"),
    ("a negative entry outlives ASK", NEAR,
     "if (near_server* const one = find(which)) one->renew_negatives(out);", "",
     "NearCluster.AskDropsTheNegativeEntriesOfItsServerAndThoseOnTheirWay"),
    ("a negative entry that is on its way outlives ASK", NEAR,
     "if (negative && stamp.negatives != negatives_) return std::nullopt;", "",
     "NearCluster.AskDropsTheNegativeEntriesOfItsServerAndThoseOnTheirWay"),
    ("a negative entry outlives a fence", NEAR,
     "  renew_negatives(out);\n  ping(now, out);", "  ping(now, out);",
     "NearCluster.AFenceDropsNegativeEntriesAndThoseOnTheirWay"),
    ("what comes from the old owner of a slot is kept", NEAR,
     "  stamps_.all_changed();\n", "",
     "NearCluster.AMovedSlotDropsItsKeysAndRefusesWhatIsOnItsWay"),
    ("the answer of another server is kept", NEAR,
     "answer.from != which_ ||", "",
     "NearCluster.AnAnswerFromAnotherServerThanWasAskedIsNotKept"),
    # Expiry.
    ("an entry expires by its reply's time", NEAR,
     "after(stamp.sent, answer.left)", "after(now, answer.left)",
     "NearMachine.AnEntryExpiresWithTheTimeLeftToItsKeyCountedFromBeforeTheRead"),
    # What the table serves.
    ("what is dropped is served to threads that have a line of it", TABLE,
     "  record.close();\n", "",
     "NearTable.ADroppedKeyIsNotFoundEvenWhereItWasHit"),
    ("a hit does not look at the end of the entry", TABLE,
     "if (!record || !record->served(now)) return {};", "if (!record) return {};",
     "NearTable.AnEntryIsServedUntilItEnds"),
    ("a hit of a thread's own line does not look at the end of the entry", TABLE,
     "!found->served(now) || ", "",
     "NearTable.AnEntryIsServedUntilItEnds"),
    ("a hit of a thread's own line does not look at the key", TABLE,
     " || found->key() != key", "",
     "NearTable.KeysOfOneHashAreKeptApart"),
    ("a refused insert leaves the earlier value", TABLE,
     "if (near_record_ptr const old = look_up(which)) remove_gone(*old, now, out);", "",
     "NearTable.ARefusedInsertTakesWhatTheKeyHad"),
    ("a generation that ended is trusted again", TABLE,
     "  trusted_.erase(at);\n", "",
     "NearTable.WhatIsServedIsNotRevivedByLateTrust"),
    # What the table keeps.
    ("a line of a thread keeps the value of an entry that has gone", TABLE,
     "one->release_handles();", "",
     "NearTableLifetime.AValueGoesWithItsEntryAtOnce"),
    ("bytes are not given back", TABLE,
     "  counts_.bytes -= record.bytes();\n", "",
     "NearTable.ClearDropsAllAndTheTableGoesOn"),
    ("what was hit makes room", TABLE,
     "if (!one.is_needed() && !one.take_visit()) return one;", "if (!one.is_needed()) return one;",
     "NearTable.WhatWasHitStaysAndWhatWasNotMakesRoom"),
    ("what others rest on makes room", TABLE,
     "!one.is_needed() && ", "",
     "NearTableSupports.ASupportMakesNoRoomWhileSomethingRestsOnIt"),
]


if __name__ == "__main__":
    sys.exit(run(MUTANTS, sys.argv[1], sys.argv[2:]))
