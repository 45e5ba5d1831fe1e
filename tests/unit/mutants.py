"""Shows that faults of a machine are seen by the tests that are named for them.

Each mutant is one change of a source; its test must be green without it and red with it.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Machine(NamedTuple):
    """Sources of src/algo (or of another box: "local/key_table") and the tests of tests/unit that
    are linked with them, by their stems."""
    sources: tuple
    tests: tuple


def stem_of(source):
    """Below src."""
    return source if "/" in source else f"algo/{source}"


def path_of(source):
    return ROOT / f"src/{stem_of(source)}.cpp"


class Bench:
    """Compiles and links in a folder of its own."""

    def __init__(self, compiler, includes, folder, machines):
        # What no test uses is left out, with all that it would need.
        self.compile = [compiler, "-std=c++20", "-O0", "-w", "-ffunction-sections",
                        f"-I{ROOT}/include", f"-I{ROOT}/src"]
        for include in includes:
            self.compile += ["-isystem", include]
        self.folder = Path(folder)
        # What all of them include, compiled once.
        common = self.folder / "common.hpp"
        common.write_text("#include <gtest/gtest.h>\n" + "".join(
            f'#include "{stem_of(source)}.hpp"\n' for each in machines for source in each.sources
            if path_of(source).with_suffix(".hpp").exists()),
                          encoding="utf-8")
        subprocess.run([*self.compile, "-x", "c++-header", common, "-o", f"{common}.gch"],
                       check=True)
        self.compile += ["-include", common]
        self.sound = {}  # of each machine, the objects by name

    def object(self, source, name):
        made = self.folder / f"{Path(name).name}.o"
        subprocess.run([*self.compile, "-c", source, "-o", made], check=True)
        return made

    def objects(self, machine):
        if machine not in self.sound:
            made = {name: self.object(path_of(name), name)
                    for name in machine.sources}
            for name in machine.tests:
                made[name] = self.object(ROOT / f"tests/unit/{name}.cpp", name)
            self.sound[machine] = made
        return self.sound[machine]

    def program(self, objects, name):
        made = self.folder / f"{name}.run"
        if not made.exists():
            subprocess.run([self.compile[0], "-Wl,--gc-sections", *objects, "-lgtest",
                            "-lgtest_main", "-lpthread", "-o", made], check=True)
        return made

    def passes(self, program, test):
        done = subprocess.run([program, f"--gtest_filter={test}"], capture_output=True, text=True,
                              check=False)
        if "[==========] 1 test " not in done.stdout:
            sys.exit(f"there is no test {test}")
        return done.returncode == 0

    def faults(self, number, mutant):
        fault, machine, text, replacement, test = mutant
        found = [(name, path, code) for name in machine.sources
                 for path in [path_of(name)]
                 for code in [path.read_text(encoding="utf-8")] if text in code]
        if len(found) != 1 or found[0][2].count(text) != 1:
            sys.exit(f"the text of the mutant \"{fault}\" is not there once")
        name, path, code = found[0]
        objects = self.objects(machine)
        sound = self.program(objects.values(), "_".join(machine.tests) + "_sound")
        changed = self.folder / f"mutant_{number}.cpp"
        changed.write_text(code.replace(text, replacement), encoding="utf-8")
        mutated = {**objects, name: self.object(changed, f"mutant_{number}")}
        if not self.passes(sound, test):
            yield f"{test} fails without a mutant"
        if self.passes(self.program(mutated.values(), f"mutant_{number}"), test):
            yield f"{test} does not see that {fault}"


def run(mutants, compiler, includes):
    """`mutants`: what goes wrong, the machine, the text, its replacement, the test that sees it.
    Returns the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        machines = list(dict.fromkeys(machine for _, machine, *_ in mutants))
        bench = Bench(compiler, includes, folder, machines)
        faults = [fault for number, each in enumerate(mutants)
                  for fault in bench.faults(number, each)]
    print("\n".join(faults) or f"{len(mutants)} mutants, each seen by its test")
    return 1 if faults else 0
