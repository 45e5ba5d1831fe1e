"""The rules of docs/stores: one anatomy for each page, and the URL options as they are declared."""

import re

FOLDER = "docs/stores/"
HEADINGS = ("Promises", "Options", "Rights and set-up", "Protocol", "Queue", "Decisions")
# Pages that are named after a scheme of a store in another folder. (redis-cluster is redis.)
STORE_OF = {"redlock": "redis"}
LONGEST_CELL = 40  # words

DECLARED = re.compile(r'\{"([a-z_]+)",\s*(?:stores::)?option_kind::\w+,\s*"([^"]*)",\s*"([^"]*)",')


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


def declared_options(tree, store):
    """name -> (default, range) of each option that a store declares."""
    text = sources(tree, store)
    if "tls_options" in text:
        text += sources(tree, "common")
    return {match[1]: match.groups()[1:] for match in DECLARED.finditer(text)}


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
    """(line, name, (default, range) if the table has them) of each option in a page's tables."""
    for line, row in table_rows(file):
        told = tuple(row[key].replace("`", "") for key in ("default", "range") if key in row)
        for name in re.findall(r"`([a-z_]+)`", row.get("option", "")):
            yield line, name, told


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
    """The options in the tables of a store's pages are those that it declares."""
    told = {}
    for file, store in pages(tree):
        declared = declared_options(tree, store)
        for line, name, said in told_options(file):
            told.setdefault(store, set()).add(name)
            if name not in declared:
                yield file.name, line, f"src/stores/{store} declares no {name}"
            elif said and said != declared[name]:
                yield file.name, line, f"{name} is declared with {' · '.join(declared[name])}"
    for store in stores(tree):
        for name in sorted(set(declared_options(tree, store)) - told.get(store, set())):
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
