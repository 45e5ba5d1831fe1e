"""Each fault of whom a store's failure concerns is seen by a test.

    trouble_mutants.py COMPILER INCLUDE_FOLDER...
"""

import sys

from mutants import Machine, run

TROUBLE = Machine(("store_trouble", "types/error"), ("store_trouble_test",))

# what goes wrong, where, the text, its replacement, the test that sees it
MUTANTS = [
    ("a denied key is everybody's trouble", TROUBLE,
     "    case errc::access_denied:\n    case errc::protocol:", "    case errc::protocol:",
     "StoreTrouble.WhatIsRefusedToOneKeyConcernsNoOther"),
    ("a bound of our own is the store's trouble", TROUBLE,
     "    case errc::overloaded:\n    case errc::moving:",
     "      return trouble_scope::key;\n    case errc::overloaded:\n"
     "      return where_silent(step);\n    case errc::moving:",
     "StoreTrouble.WhatIsRefusedToOneKeyConcernsNoOther"),
    ("a slot that is being moved is an answer", TROUBLE,
     "    case errc::moving:\n      return trouble_scope", "      return trouble_scope",
     "StoreTrouble.WhatIsRefusedToOneKeyConcernsNoOther"),
    ("a value without room stops all claims", TROUBLE,
     "return step == store_step::fill ? trouble_scope::key : trouble_scope::claims;",
     "return trouble_scope::claims;",
     "StoreTrouble.AValueThatFindsNoRoomConcernsItsKey"),
    ("a full server is asked for each claim", TROUBLE,
     "return step == store_step::fill ? trouble_scope::key : trouble_scope::claims;",
     "return trouble_scope::key;",
     "StoreTrouble.AStoreThatIsOutOfReachConcernsAllThatAskForTheSame"),
    ("a store that is out of reach is read by each call", TROUBLE,
     "if (step == store_step::read) return trouble_scope::reads;", "",
     "StoreTrouble.AStoreThatIsOutOfReachConcernsAllThatAskForTheSame"),
    ("silence to a claim says nothing of reads", TROUBLE,
     "trouble_scope::reads : trouble_scope::store;",
     "trouble_scope::reads : trouble_scope::claims;",
     "StoreTrouble.SilenceConcernsEverybody"),
    ("what the kernel says is an answer", TROUBLE,
     "return where_silent(step);\n  switch", "return trouble_scope::none;\n  switch",
     "StoreTrouble.SilenceConcernsEverybody"),
]


if __name__ == "__main__":
    sys.exit(run(MUTANTS, sys.argv[1], sys.argv[2:]))
