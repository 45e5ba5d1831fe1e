"""The rules of docs/stores: one anatomy for each page, and the URL options as they are parsed."""

import re

FOLDER = "docs/stores/"
HEADINGS = ("Promises", "Options", "Rights and set-up", "Protocol", "Queue", "Rejected")
# Pages that are named after a scheme of a store in another folder. (redis-cluster is redis.)
STORE_OF = {"redlock": "redis"}
LONGEST_CELL = 40  # words

TAKEN = re.compile(r'\btake_\w+\(\s*(?:[\w.*&]+,\s*)*"([a-z_]+)"(?=([^;]*);)')
PAIRED = re.compile(r'\bpair\{"([a-z_]+)"(, &[\w.]+)\}')
PASSED = re.compile(r"\bpassed_through\[\] = \{([^}]*)\}")
UNITS = {"": 1, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}


def pages(tree):
    """(page, the store's folder) of each page."""
    for file in tree.files:
        if file.name.startswith(FOLDER) and file.path.suffix == ".md":
            first = file.path.stem.partition("-")[0]
            yield file, STORE_OF.get(first, first)


def stores(tree):
    names = (file.name.split("/") for file in tree.cpp("src/stores"))
    return sorted({parts[2] for parts in names if len(parts) > 3} - {"common"})


def sources(tree, store):
    return "".join(file.text for file in tree.cpp(f"src/stores/{store}"))


def parsed_options(tree, store):
    """The options that a store's parser takes, and what stands behind the name there."""
    text = sources(tree, store)
    if "take_tls(" in text and store != "common":
        text += sources(tree, "common")
    found = {}
    for match in [*TAKEN.finditer(text), *PAIRED.finditer(text)]:
        found.setdefault(match[1], match[2])
    for match in PASSED.finditer(text):
        found.update(dict.fromkeys(re.findall(r'"([a-z_]+)"', match[1]), ""))
    return found


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table_rows(file):
    """(line, the cells by the names in the table's head) of each row."""
    head = None
    for number, line in enumerate(file.lines, 1):
        if not line.startswith("|"):
            head = None
        elif head is None:
            head = cells(line)
        elif not re.fullmatch(r"[|\s:-]+", line):
            yield number, dict(zip(head, cells(line)))


def told_options(file):
    """(line, name, default) of each option in a page's tables."""
    for line, row in table_rows(file):
        for name in re.findall(r"`([a-z_]+)`", row.get("option", "")):
            yield line, name, row.get("default", "").strip("`")


def as_number(text):
    """A number, a shifted number or a duration in ms; the text itself for anything else."""
    plain = re.sub(r"std::\w+\{(\d+)\}", r"\1", text.replace("'", ""))
    match = re.fullmatch(r"(\d+)(?: << (\d+)|(ms|s|m|h|))", plain)
    if not match:
        return text.strip('"')
    return (int(match[1]) << int(match[2] or 0)) * UNITS[match[3] or ""]


def defaults(tree, store, behind):
    """What the parser has as default, as texts or numbers; nothing where that is not simple."""
    if literal := re.match(r',\s*"([^"]+)"', behind):
        return {as_number(literal[1])}
    member = re.search(r"\b\w+\.(?:\w+\.)*(\w+)", behind)
    if not member:
        return set()
    simple = r"\b(?:milliseconds|int|std::size_t|std::uint64_t|std::string)\s+"
    set_to = rf"{simple}{member[1]}(?:\{{([^;]*)\}}| = ([^;]*));"
    values = re.findall(set_to, sources(tree, store))
    return {as_number(braced or assigned) for braced, assigned in values}


def rule_store_pages(tree):
    """Each store has a page. It says what it is for, and has the headings of all, in order."""
    told = list(pages(tree))
    for store in stores(tree):
        if not tree.get(f"{FOLDER}{store}.md"):
            yield f"{FOLDER}{store}.md", 1, f"src/stores/{store} has no page"
    for file, store in told:
        headings = [name for name in re.findall(r"^## (.*)$", file.text, re.MULTILINE)
                    if name in HEADINGS]
        if headings != list(HEADINGS):
            yield file.name, 1, "has not, in this order: " + ", ".join(HEADINGS)
        opening = "\n".join(file.lines[:8])
        if "Good for" not in opening or "Not for" not in opening:
            yield file.name, 1, "begins with what it is good for, and what it is not for"


def rule_store_options(tree):
    """The options in the tables of a store's pages are those that its parser takes."""
    told = {}
    for file, store in pages(tree):
        parsed = parsed_options(tree, store)
        for line, name, default in told_options(file):
            told.setdefault(store, set()).add(name)
            if name not in parsed:
                yield file.name, line, f"src/stores/{store} takes no {name}"
                continue
            known = defaults(tree, store, parsed[name])
            if re.fullmatch(r"\w+", default) and known and as_number(default) not in known:
                yield file.name, line, f"{name} is {' or '.join(map(str, known))} in the parser"
    for store in stores(tree):
        for name in sorted(set(parsed_options(tree, store)) - told.get(store, set())):
            yield f"{FOLDER}{store}.md", 1, f"no table has the option {name}"


def rule_short_cells(tree):
    """A cell that is longer than a few lines is a paragraph: it belongs under a heading."""
    for file in tree.files:
        if file.name != "docs/guarantees.md" and not file.name.startswith(FOLDER):
            continue
        for line, text in enumerate(file.lines, 1):
            for cell in cells(text) if text.startswith("|") else []:
                if len(cell.split()) > LONGEST_CELL:
                    yield file.name, line, f"a cell of {len(cell.split())} words: {cell[:40]}…"
