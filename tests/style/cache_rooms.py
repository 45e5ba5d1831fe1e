"""How the cache keeps what it knows of keys, and how often it asks whether a feature is there.

    cache_rooms.py ROOT    each place that counts

Containers: every map or set in src/cache and src/algo that is keyed by a cache_key or a string; the
list names them. Questions: lines of src/cache with an `if`, `?`, `&&` or `||` that ask whether a
feature of the cache is there; not those that check options, nor the first of each feature in a
function of src/cache/keys, which passes the events on. Both only shrink: the numbers and names
stand in cache_rooms.txt.
"""

import re
import sys
from pathlib import Path

from tree import Tree

LIST = "tests/style/cache_rooms.txt"
CONTAINER = re.compile(
    r"\b(?:std|boost::\w+)::(?:unordered_)?(?:flat_|node_)?(?:multi)?(?:map|set)<\s*"
    r"(?:std::string(?:_view)?|cache_key)\b[^;{}()]*?[>&*\s](\w+)(?:\{[^;]*\})?;"
    r"|\busing (\w+) =\s*(?:std|boost::\w+)::(?:unordered_)?(?:flat_|node_)?(?:multi)?"
    r"(?:map|set)<\s*"
    r"(?:std::string(?:_view)?|cache_key)\b")
ASKS = re.compile(r"\bif\b|\?|&&|\|\|")
FEATURE = re.compile(
    r"\b(?:freshness|plain_times|lasting|over_locks|owned)\(\)|"
    r"\b(?:freshness|plain_times|lasting|over_locks|near|hot|rules|fleet)_(?![\w.])|"
    r"\bof_\.(?:tags|plain_times|lasting)\b|\bservices\.owned\b|\bservices_->owned\b|"
    r"\blocal(?:_|\(\))\.(?:near|hot|rules)\b|\bis_framed\(|\bhas_owned\b|"
    r"\boptions(?:\(\))?\.(?:tags\.of|hot\.keys|near\.mode|early_refresh|freshness\.grace|ttl)\b")


def containers(tree):
    for file in tree.cpp():
        if not file.name.startswith(("src/cache/", "src/algo/")):
            continue
        code = file.code
        for found in CONTAINER.finditer(code):
            name = found[1] or found[2]
            yield file.name, code[:found.start()].count("\n") + 1, name


def functions(code):
    """The functions of a file: its text, cut behind each closing brace of a line of its own, and
    behind each function of one line."""
    line, part, first = 1, [], 1
    for text in code.splitlines():
        part.append(text)
        line += 1
        if re.match(r"(?:  )?\}|  \S.*\{.*\}$", text):
            yield first, part
            part, first = [], line
    yield first, part


def questions(tree):
    """In cache/keys each event is passed on to each policy once: one question there is none."""
    for file in tree.cpp():
        if not file.name.startswith("src/cache/") or file.name.endswith("/checks.cpp"):
            continue
        dispatches = file.name.startswith("src/cache/keys/")
        for first, part in functions(file.code):
            asked = set()
            for number, line in enumerate(part, first):
                features = {found.group(0) for found in FEATURE.finditer(line)}
                if not ASKS.search(line) or not features:
                    continue
                if not dispatches or features & asked:
                    yield file.name, number, line.strip()
                asked |= features


def expected(tree):
    """The numbers of questions by room, and the names of containers."""
    numbers, names = {}, set()
    for file in tree.files:
        if file.name == LIST:
            for line in file.lines:
                words = line.split("#")[0].split()
                if len(words) == 3 and words[0] == "questions":
                    numbers[words[1]] = int(words[2])
                elif len(words) == 2 and words[0] == "container":
                    names.add(words[1])
    return numbers, names


def rule_cache_rooms(tree):
    numbers, names = expected(tree)
    seen = {}
    for name, number, _ in questions(tree):
        room = name.split("/")[2]
        seen.setdefault(room, []).append((name, number))
    for room in sorted(set(numbers) | set(seen)):
        places, most = seen.get(room, []), numbers.get(room, 0)
        if len(places) > most:
            yield *places[-1], (f"cache/{room} asks {len(places)} times whether a feature is "
                                f"there; at most {most}")
        elif len(places) < most:
            yield LIST, 1, f"lower the number: cache/{room} asks {len(places)} times"
    found = {f"{name}:{what}": (name, line) for name, line, what in containers(tree)}
    for one in sorted(set(found) - names):
        yield *found[one], f"a container keyed by a key that {LIST} does not name: {one}"
    for one in sorted(names - set(found)):
        yield LIST, 1, f"take it out: there is no {one}"


def main(arguments):
    tree = Tree(arguments[0])
    for name, line, what in containers(tree):
        print(f"{name}:{line}: container {what}")
    for name, line, text in questions(tree):
        print(f"{name}:{line}: {text}")


if __name__ == "__main__":
    main(sys.argv[1:])
