"""Style as a test.

    check.py ROOT [RULE…]    prints what breaks the rules; ends with 1 when anything does
    check.py --list          the names of the rules
"""

import sys

import rules
from tree import Tree

# The checker and its bad samples name what they forbid.
OWN = ("tests/style/rules.py", "tests/style/samples.py")
OF_FORM = ("file_length", "columns", "whitespace")


def problems(tree, names):
    for name in names:
        for file, line, message in rules.ALL[name](tree):
            excepted = (name, file) in rules.EXCEPTIONS or file in OWN and name not in OF_FORM
            if not excepted:
                yield f"{file}:{line}: [{name}] {message}"


def main(arguments):
    if arguments == ["--list"]:
        print("\n".join(rules.ALL))
        return 0
    if not arguments or not set(arguments[1:]) <= set(rules.ALL):
        print(__doc__, file=sys.stderr)
        return 64
    tree = Tree(arguments[0])
    if not tree.cpp():
        print(f"no sources under {tree.root}", file=sys.stderr)
        return 64
    found = list(problems(tree, arguments[1:] or rules.ALL))
    print("\n".join(found) or f"{len(tree.files)} files in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
