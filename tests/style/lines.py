"""Lines of code by box: no comments, no blank lines; .lua included, texts of --help (.txt) not.

    lines.py                  of the files as they are here
    lines.py COMMIT           of a commit
    lines.py BEFORE AFTER     of both, and the difference
"""

import io
import re
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path

from boxes import box_of
from tree import TOKEN

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("src", "lab", "tests", "bench")
SUFFIXES = (".hpp", ".cpp", ".lua")
# Sums of several boxes: what is installed as `herdlock`, what is played and measured.
SUMS = {"all stores": r"stores/", "all programs": r"cli$|terminal$", "all scenes": r"lab\b",
        "all that is played": r"cli$|terminal$|lab\b|bench$|tests/soak$"}


def code_lines(name, text):
    if name.endswith(".lua"):
        return sum(not re.match(r"\s*(--|$)", line) for line in text.splitlines())

    def bare(match):
        # Scripts and statements that stand in a literal are code, their comments are not.
        if match["raw"]:
            return re.sub(r"^\s*--.*$", "", match[0], flags=re.MULTILINE)
        return match[0] if not match["note"] else "\n" * match[0].count("\n")

    return sum(bool(line.strip()) for line in TOKEN.sub(bare, text).splitlines())


def files_here():
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in SUFFIXES:
                yield path.relative_to(ROOT).as_posix(), path.read_text()


def files_of(commit):
    packed = subprocess.run(["git", "-C", str(ROOT), "archive", commit],
                            check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            ours = member.name.split("/")[0] in FOLDERS
            if member.isfile() and ours and member.name.endswith(SUFFIXES):
                yield member.name, archive.extractfile(member).read().decode()


def count(files):
    """box -> lines, with the sums."""
    lines = Counter()
    for name, text in files:
        number = code_lines(name, text)
        folder = name.split("/")[0]
        box = box_of(name) or folder
        sums = [sum_ for sum_, pattern in SUMS.items() if re.match(pattern, box)]
        for each in [box, f"all of {folder}", *sums]:
            lines[each] += number
    return lines


def main(arguments):
    if len(arguments) > 2 or any(argument.startswith("-") for argument in arguments):
        print(__doc__, file=sys.stderr)
        return 64
    counts = [count(files_of(commit)) for commit in arguments] or [count(files_here())]
    boxes = {box for lines in counts for box in lines}
    for box in sorted(boxes, key=lambda name: (name.startswith("all "), name)):
        row = "".join(f"{lines[box]:9,}" for lines in counts)
        change = f"{counts[1][box] - counts[0][box]:+9,}" if len(counts) == 2 else ""
        print(f"{box:20}{row}{change}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
