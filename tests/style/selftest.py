"""The checker checked: a house in order passes, and each fault is reported by its own rule."""

import sys
import tempfile
from pathlib import Path

import check
import classes
import rules
import samples
from tree import Tree


def house(root, extra):
    for name, text in {**samples.GOOD, **dict(extra)}.items():
        path = Path(root) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return Tree(root)


def failures():
    for rule in rules.ALL:
        if rule not in samples.BAD:
            yield f"the rule {rule} has no sample that breaks it"
    with tempfile.TemporaryDirectory() as root:
        yield from (f"in order, yet: {problem}"
                    for problem in check.problems(house(root, []), rules.ALL))
    for rule, bad_files in samples.BAD.items():
        for name, text in bad_files:
            with tempfile.TemporaryDirectory() as root:
                found = list(check.problems(house(root, [(name, text)]), [rule]))
            if not any(problem.startswith(name + ":") for problem in found):
                yield f"{rule} does not see {name}: {text[:60]!r}"
    yield from classes.verdict_faults()


def main():
    found = list(failures())
    print("\n".join(found) or f"{sum(map(len, samples.BAD.values()))} faults found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
