"""The rules of decisions: each stands where its subject does, and what names it finds it."""

import posixpath
import re

from documents import anchor_of, anchors, without_blocks

FOLDER = "docs/decisions/"
INDEX = FOLDER + "README.md"
STORES = "docs/stores/"
PARTS = ("Context", "Decision", "Consequence", "Rejected")
LONGEST = 40  # lines of a section
# What was decided while decisions had numbers.
NUMBERS = {f"{number:03}" for number in range(1, 108)} - {"049", "075"}
FEWEST_NAMED = 30  # by src

ROW = re.compile(r"^\| (\d{3}|–) \| \[[^\]]+\]\(([^)#]+)#([^)]+)\) \|$")
NAMED = re.compile(r"\b(docs/[\w/-]+\.md)#([\w-]+)")


def sections(file):
    """(line, title, text) of each decision on a page: all of it, or below "## Decisions"."""
    text = file.text
    if file.name.startswith(STORES):
        head, found, text = text.partition("\n## Decisions\n")
        first, mark = head.count("\n") + 2, "###"
    else:
        first, mark = 1, "##"
    titles = list(re.finditer(rf"^{mark} (.*)$", without_blocks(text), re.MULTILINE))
    lines = text.split("\n")
    at = [without_blocks(text).count("\n", 0, title.start()) for title in titles]
    for title, begin, end in zip(titles, at, at[1:] + [len(lines)]):
        yield first + begin, title[1], "\n".join(lines[begin:end]).rstrip()


def decisions(tree):
    """(page, line, title, text) of all."""
    for file in tree.files:
        is_page = file.name.startswith((FOLDER, STORES)) and file.path.suffix == ".md"
        if is_page and file.name != INDEX:
            for line, title, text in sections(file):
                yield file, line, title, text


def listed(index):
    """(line, number, page, anchor) of each row of the table."""
    for line, text in enumerate(index.lines if index else [], 1):
        if row := ROW.match(text):
            yield line, row[1], posixpath.normpath(FOLDER + row[2]), row[3]


def rule_decisions(tree):
    """A decision has a title of its own and four parts, is short, and is listed."""
    rows = {(page, anchor) for _, _, page, anchor in listed(tree.get(INDEX))}
    seen = set()
    for file, line, title, text in decisions(tree):
        for part in PARTS:
            if f"\n**{part}.**" not in text:
                yield file.name, line, f"{title} has no part **{part}.**"
        if text.count("\n") >= LONGEST:
            yield file.name, line, f"{title} has {text.count(chr(10)) + 1} lines; {LONGEST} at most"
        place = file.name, anchor_of(title)
        if place in seen:
            yield file.name, line, f"{title} stands here twice"
        if place not in rows:
            yield file.name, line, f"{INDEX} does not list {title}"
        seen.add(place)


def rule_decision_numbers(tree):
    """The table leads from each number to its decision, and from none to anything else."""
    there = {(file.name, anchor_of(title)) for file, _, title, _ in decisions(tree)}
    found = set()
    for line, number, page, anchor in listed(tree.get(INDEX)):
        if (page, anchor) not in there:
            yield INDEX, line, f"{page} has no decision {anchor}"
        if number in found:
            yield INDEX, line, f"{number} stands here twice"
        found |= {number} - {"–"}
    if found != NUMBERS:
        wrong = ", ".join(sorted(found ^ NUMBERS))
        yield INDEX, 1, f"not the numbers from 001 to 107, but 049 and 075: {wrong}"


def rule_named_anchors_exist(tree):
    """A section of a document that code names is there, and src names enough decisions."""
    rows = {(page, anchor) for _, _, page, anchor in listed(tree.get(INDEX))}
    heads = {file.name: anchors(file.text) for file in tree.files if file.path.suffix == ".md"}
    named = set()
    for file in tree.files:
        if file.path.suffix == ".md":
            continue
        for line, match in file.find_text(NAMED):
            if match[2] not in heads.get(match[1], ()):
                yield file.name, line, f"no section {match[0]}"
            if file.under("src"):
                named.add(match.groups())
    if len(named & rows) < FEWEST_NAMED:
        yield INDEX, 1, f"src names {len(named & rows)} decisions; {FEWEST_NAMED} at least"
