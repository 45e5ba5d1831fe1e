"""Each fault that a cache's life could have is seen by a test that is named here.

    freshness_mutants.py COMPILER INCLUDE_FOLDER...

Each mutant is one change of a source; the test must be green without it and red with it.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

FRESHNESS = ("freshness", "freshness_test.cpp")
LOAD = ("load_machine", "load_machine_test.cpp")

# what goes wrong, (source, its test), the text, its replacement, the test that sees it
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
     "(how == wait_end::soft_timeout || options_.fail_safe)", "how == wait_end::soft_timeout",
     "Freshness.AStaleCopyIsTheAnswerAfterTheSoftTimeoutAndInsteadOfAnError"),
    ("a success does not clear the back-off", FRESHNESS,
     "if (key_state* const state = find(key)) {\n    state->failures = 0;",
     "if (key_state* const state = find(key)) {",
     "Freshness.BackOffGrowsWithFailuresInARowAndASuccessClearsIt"),
    ("the success of another does not clear the back-off", FRESHNESS,
     "times.created > state.failing.since", "false",
     "Freshness.AnEntryMadeAfterTheFailureIsASuccessOfSomebodyElse"),
    ("an entry that is older than the failure clears the back-off", FRESHNESS,
     "times.created > state.failing.since", "true",
     "Freshness.AnEarlyRefreshThatFailedLeavesTheFreshEntryServedAndIsNotTriedAtOnce"),
    ("the end of a voided refresh ends the next one", FRESHNESS,
     "if (!state || state->refresh != refresh) return;", "if (!state) return;",
     "Freshness.ExpireEndsTheRefreshUnderWaySoThatTheNextBeginsAtOnce"),
    ("a refresh begins during the back-off", FRESHNESS,
     "now < state->not_before || now < state->failing.until", "now < state->not_before",
     "Freshness.AnEarlyRefreshThatFailedLeavesTheFreshEntryServedAndIsNotTriedAtOnce"),
]


class Bench:
    """Compiles and links in a folder of its own."""

    def __init__(self, compiler, includes, folder):
        self.compile = [compiler, "-std=c++20", "-O0", "-w", f"-I{ROOT}/include", f"-I{ROOT}/src"]
        for include in includes:
            self.compile += ["-isystem", include]
        self.folder = Path(folder)
        # What all of them include, compiled once.
        common = self.folder / "common.hpp"
        common.write_text("".join(f'#include "algo/{each}.hpp"\n' for each, _ in (FRESHNESS, LOAD)),
                          encoding="utf-8")
        subprocess.run([*self.compile, "-x", "c++-header", common, "-o", f"{common}.gch"],
                       check=True)
        self.compile += ["-include", common]

    def object(self, source, name):
        made = self.folder / f"{name}.o"
        subprocess.run([*self.compile, "-c", source, "-o", made], check=True)
        return made

    def program(self, objects, name):
        made = self.folder / f"{name}.run"
        subprocess.run([self.compile[0], *objects, "-lgtest", "-lgtest_main", "-lpthread", "-o",
                        made], check=True)
        return made

    def passes(self, program, test):
        done = subprocess.run([program, f"--gtest_filter={test}"], capture_output=True, text=True,
                              check=False)
        if "[==========] 1 test " not in done.stdout:
            sys.exit(f"there is no test {test}")
        return done.returncode == 0


def main(compiler, includes):
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(compiler, includes, folder)
        tests = {}
        for number, (what, (source, test_file), text, replacement, test) in enumerate(MUTANTS):
            path = ROOT / "src/algo" / f"{source}.cpp"
            code = path.read_text(encoding="utf-8")
            if code.count(text) != 1:
                sys.exit(f"{path}: the text of the mutant \"{what}\" is not there once")
            if source not in tests:
                test_object = bench.object(ROOT / "tests/unit" / test_file, source + "_test")
                sound = bench.program([test_object, bench.object(path, source)], source)
                tests[source] = (test_object, sound)
            test_object, sound = tests[source]
            changed = bench.folder / f"mutant_{number}.cpp"
            changed.write_text(code.replace(text, replacement), encoding="utf-8")
            mutant = bench.object(changed, f"mutant_{number}")
            if not bench.passes(sound, test):
                faults.append(f"{test} fails without a mutant")
            if bench.passes(bench.program([test_object, mutant], f"mutant_{number}"), test):
                faults.append(f"{test} does not see that {what}")
    print("\n".join(faults) or f"{len(MUTANTS)} mutants, each seen by its test")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
