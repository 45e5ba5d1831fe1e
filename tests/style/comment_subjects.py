"""The rule of the comments: a comment begins with its subject, a noun.

    comment_subjects.py ROOT [BOX]    prints the lines that break it, or without a box the list

`// Of the entry.`, `// Who waits is woken.`, `// What is kept ends.`, `// Where it fails, …` leave
their noun to the declaration below, or to the reader. Questions may begin so.

How many each box still has is in comment_subjects.txt. The list only shrinks: a box has as many as
it says there, and a box that is not there has none.
"""

import re
import sys
from collections import defaultdict

from boxes import box_of
from tree import TOKEN, Tree

LIST = "tests/style/comment_subjects.txt"
HEADLESS = re.compile(r"(Of|Who|Whoever|What|Whatever|Where|Wherever)\b")
QUESTION = re.compile(r"[^.:!?]*\?")


def comments(file):
    """(line, text) of each paragraph of a comment, its lines joined."""
    found, last_line, last_column = [], 0, -1
    for match in TOKEN.finditer(file.text):
        if not match["note"] or match["note"].startswith("/*"):
            continue
        line = file.line_at(match.start())
        begin = file.text.rfind("\n", 0, match.start()) + 1
        column, alone = match.start() - begin, not file.text[begin:match.start()].strip()
        text = re.sub(r"^//[/!]?<?\s*", "", match["note"]).rstrip()
        goes_on = alone and line == last_line + 1 and column == last_column
        last_line, last_column = (line, column) if text else (0, -1)
        if goes_on and text:
            found[-1] = (found[-1][0], f"{found[-1][1]} {text}")
        elif text:
            found.append((line, text))
    return found


def headless(tree):
    """box -> (file name, line, first word) of each comment without a subject."""
    places = defaultdict(list)
    for file in tree.cpp("src", "include"):
        for line, text in comments(file) if HEADLESS.search(file.text) else ():
            first = HEADLESS.match(text)
            if first and not QUESTION.match(text):
                places[box_of(file.name)].append((file.name, line, first[0]))
    return places


def rule_comment_subjects(tree):
    """A comment does not begin with a bare Of, Who, What or Where."""
    list_ = tree.get(LIST)
    lines = [line.split() for line in list_.lines if line and line[0] != "#"] if list_ else []
    left = {box: int(number) for box, number in lines}
    places = headless(tree)
    for box, found in places.items():
        if box not in left:
            for name, line, word in found:
                yield name, line, f"the comment begins with '{word}': begin with its subject"
    for number, line in enumerate(list_.lines if list_ else [], 1):
        box = line.split()[0] if line else "#"
        now = len(places.get(box, ()))
        if box[0] == "#" or now == left[box]:
            continue
        if now > left[box]:
            yield LIST, number, f"{box} has {now} now: begin comments with their subject"
        else:
            yield LIST, number, f"lower the number: {box} has {now}; none: take the line out"
    if lines != sorted(lines):
        yield LIST, 1, "the list is not sorted"


def main(arguments):
    if len(arguments) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 64
    places = headless(Tree(arguments[0]))
    if arguments[1:]:
        for name, line, word in places.get(arguments[1], ()):
            print(f"{name}:{line}: {word}")
        return 0
    print("# How many comments of a box begin with a bare Of, Who, What or Where, against\n"
          "# comment_subjects.py. The list only shrinks.")
    print("\n".join(f"{box} {len(found)}" for box, found in sorted(places.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
