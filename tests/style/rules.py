"""The rules. Each is a function from the tree to (file name, line, message), found by its name."""

import fnmatch
import re

import async_calls
import boxes
import commands
import cache_rooms
import comment_subjects
import decisions
import documents
import old_names
import statements
import store_pages
import time_limits

LONGEST = {".hpp": 300, ".cpp": 400, ".py": 400, ".lua": 150}
LONGEST_FUNCTION = 70
WIDEST = 100

# Words of other projects, and words that mean two things, in the design's table.
FOREIGN_WORDS = (r"\b(lock[ _](name|id)|mutex[ _]name|blocked[ _]client|locker|dogpile|soft[ _]ttl"
                 r"|heavy[ _]hitter|uuid|obtain(s|ed)?)\b")
SLEEPS = r"\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\("
SWITCHED_OFF = r"\b(DISABLED_\w+|GTEST_SKIP\b)"
IMPURITIES = (r"::now\s*\(|\brandom_device\b|\bmt19937|\brand\s*\(|\bgetrandom\b|\bgetenv\b"
              r"|\bstd::(thread|jthread|mutex|atomic)\b|\bsocket\b|\bsleep|\bthread_local\b"
              r"|\bstatic\s+(?!_assert|constexpr|const\b|inline)\w[\w:<>]*\s+\w+\s*[=;{]")
# The few places that may do what the rest must not, and why.
EXCEPTIONS = {
    ("file_length", "include/herdlock/cache.hpp"):
        "who reads a class wants all of it in one place",
    ("tests_run", "tests/support/eventually.hpp"): "the one place where tests wait",
    ("no_wall_clock", "src/stores/memory/fencing_counter.hpp"):
        "fencing tokens go on rising after a restart of the process",
    ("no_wall_clock", "src/stores/sqlite/lease_statements.cpp"):
        "fencing tokens go on rising when the file was deleted",
    ("no_wall_clock", "src/stores/common/clock_skew.hpp"):
        "what is looked for is how much the wall clocks differ",
    ("no_wall_clock", "include/herdlock/hot_rule.hpp"):
        "people give the times of rules, by their clock",
    ("no_wall_clock", "src/cache/fleet/rules.cpp"):
        "people give the times of rules, by their clock",
    ("no_wall_clock", "src/cli/look/show.cpp"):
        "people are told when, by their clock",
    ("no_wall_clock", "src/stores/redis/dialects/getset_dialect.cpp"):
        "the historical protocol stores Unix times; its clients compare their wall clocks",
}
MACHINE_PATHS = r"(?<![\w.}/-])/(work|home|root|Users|tmp)/"
REGISTRIES = (r"\b((deb|security|snapshot|ftp\.\w+)\.debian\.org|archive\.ubuntu\.com|pypi\.org"
              r"|registry\.npmjs\.org|crates\.io|center\.conan\.io|proxy\.golang\.org|docker\.io"
              r"|hub\.docker\.com)\b")
CHECKS = r"EXPECT|ASSERT|FAIL\(|RC_|rc::|(?i:expect|assert|check|verify|must|prove)"


def rule_includes(tree):
    """Each box includes only what the house allows."""
    for file in tree.cpp():
        box = boxes.box_of(file.name)
        for line, included in file.includes if box else []:
            why = boxes.refusal(file, box, included, boxes.resolve(tree, file, included))
            if why:
                yield file.name, line, why


def rule_file_length(tree):
    """Headers have at most 300 lines, sources 400, a script or a part of one 150."""
    for file in tree.files:
        limit = LONGEST.get(file.path.suffix)
        if limit and len(file.lines) > limit:
            yield file.name, limit + 1, f"{len(file.lines)} lines; at most {limit}"


def rule_function_length(tree):
    """A function has at most 70 lines."""
    for file in tree.cpp():
        for first, last in functions(file.code):
            if last - first + 1 > LONGEST_FUNCTION:
                yield file.name, first, f"{last - first + 1} lines; at most {LONGEST_FUNCTION}"


def functions(code):
    """(first line, last line) of each function: a brace after `)…` that stands in a namespace or
    a type. Good enough for formatted code; lambdas and blocks belong to the function around."""
    stack, start, line, head_line = [], 0, 1, 1
    for at, char in enumerate(code):
        if char == "\n":
            line += 1
        elif char == "{":
            initialiser = not code[at - 1].isspace() and head_line is not None
            kind = "initialiser" if initialiser else kind_of(code[start:at], stack)
            stack.append((kind, head_line))
        elif char == "}" and stack:
            kind, first = stack.pop()
            if kind == "function":
                yield first, line
            if kind == "initialiser":
                continue
        if char == "{" and stack[-1][0] == "initialiser":
            continue
        if char in "{};" or (char == "\n" and code[start:at].lstrip().startswith("#")):
            start, head_line = at + 1, None
        elif head_line is None and not char.isspace():
            head_line = line


def kind_of(head, stack):
    if stack and stack[-1][0] in ("function", "block", "initialiser"):
        return "block"
    if re.search(r"\b(namespace|extern)\b[^()]*$", head):
        return "scope"
    if re.search(r"\)[^()=]*$|\)\s*:\s", head) and not re.search(r"=\s*$", head):
        return "function"
    return "scope" if re.search(r"\b(class|struct|union|enum)\b", head) else "block"


def rule_columns(tree):
    """Lines have at most 100 columns (Markdown tables may be wider)."""
    for file in tree.files:
        if file.path.suffix in (".md", ".json") or file.name == "LICENSE":
            continue
        for number, line in enumerate(file.lines, 1):
            if len(line) > WIDEST:
                yield file.name, number, f"{len(line)} columns; at most {WIDEST}"


def rule_whitespace(tree):
    """Files end with one newline; no tabs, no carriage returns, no blanks at the end of a line."""
    for file in tree.files:
        if file.text and (not file.text.endswith("\n") or file.text.endswith("\n\n")):
            yield file.name, len(file.lines), "the file does not end with one newline"
        for line, _ in file.find_text(r"\t|\r|[ ]+$", re.MULTILINE):
            yield file.name, line, "a tab, a carriage return, or a blank at the end of the line"


def rule_header_opening(tree):
    """A header begins with a comment that says what it is for, then `#pragma once`."""
    for file in tree.cpp():
        if file.is_header and not re.match(r"(//[^\n]*\n)+\n?#pragma once\n", file.text):
            yield file.name, 1, "a header begins with a comment and #pragma once"


def rule_public_headers_reachable(tree):
    """herdlock.hpp reaches every public header, or its first comment names it as left out."""
    seen, todo = set(), ["include/herdlock/herdlock.hpp"]
    while todo:
        file = tree.get(todo.pop())
        if file and file.name not in seen:
            seen.add(file.name)
            todo += ["include/" + included for _, included in file.includes]
    whole = tree.get("include/herdlock/herdlock.hpp")
    left_out = {"include/herdlock/" + name.removeprefix("herdlock/") for name in
                re.findall(r"[\w/]+\.hpp", whole.text.split("#pragma")[0])} if whole else set()
    for file in tree.cpp("include"):
        if file.name not in seen | left_out and file.name not in boxes.ADAPTERS:
            yield file.name, 1, "herdlock.hpp does not reach this header"


def rule_sources_registered(tree):
    """Every source, and so every test, is named in a CMakeLists.txt (or matched by its glob)."""
    for file in tree.cpp("src", "lab", "tests", "bench", "examples"):
        if not file.is_header and not registered(tree, file):
            yield file.name, 1, "no CMakeLists.txt above this source names it"


def registered(tree, file):
    for folder in file.path.parents:
        cmake = tree.get((folder / "CMakeLists.txt").as_posix())
        if not cmake:
            continue
        wanted = file.path.relative_to(folder).as_posix()
        text = re.sub(r"#[^\n]*", "", cmake.text)
        words = [word.replace("${CMAKE_CURRENT_SOURCE_DIR}/", "")
                 for word in re.split(r'[\s()"]+', text)]
        if any(fnmatch.fnmatch(wanted, word) for word in words if word.endswith(".cpp")):
            return True
    return False


def rule_script_parts_included(tree):
    """Each part of a Lua script is included by one, by the line that cmake/HerdlockScripts.cmake
    knows; and no file includes what is not there."""
    included = set()
    for file in tree.lua():
        folder = file.path.parent.parent if file.path.parent.name == "parts" else file.path.parent
        for line, match in file.find_text(r"^--@include (.*)$", re.MULTILINE):
            included.add((folder / match[1]).as_posix())
            if not tree.get((folder / match[1]).as_posix()):
                yield file.name, line, f"no file {match[1]}"
    for file in tree.lua():
        if file.path.parent.name == "parts" and file.name not in included:
            yield file.name, 1, "no script includes this part"


def rule_lua_is_in_lua_files(tree):
    """No Lua in the literals of C++: nothing would check it there."""
    for file in tree.cpp("src"):
        for line, match in file.find_text(r"\bredis\.p?call\("):
            yield file.name, line, f"{match[0]}: put it into a script of stores/redis/scripts"


def rule_tests_run(tree):
    """Tests never sleep and none is switched off."""
    for file in tree.files:
        if not file.under("tests") or file.path.suffix not in (".cpp", ".hpp", ".py"):
            continue
        for line, match in file.find(SLEEPS):
            yield file.name, line, f"a test waits for the event, it does not {match[1]}"
        for line, match in file.find(SWITCHED_OFF):
            yield file.name, line, f"a test that does not run: {match[0]}"


def rule_tests_check(tree):
    """Every test expects something."""
    for file in tree.cpp("tests"):
        heads = list(file.find(r"^(TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\s*\(", re.MULTILINE))
        for index, (line, match) in enumerate(heads):
            end = heads[index + 1][1].start() if index + 1 < len(heads) else len(file.code)
            body = file.code[match.end():end]
            helpers = (helper(file.code, name) for name in re.findall(r"\b(\w+)\(", body))
            if not any(re.search(CHECKS, code) for code in (body, *helpers)):
                yield file.name, line, "a test that expects nothing"


def helper(code, name):
    """The body of the file's own function of that name; empty when there is none."""
    found = re.search(rf"^[\w:<>*& ]+\b{name}\([^;{{]*\{{.*?^\}}", code, re.MULTILINE | re.DOTALL)
    return found[0] if found else ""


def rule_nothing_left_to_do(tree):
    """No TODO, FIXME or XXX: an issue is the place."""
    for file in tree.files:
        for line, match in file.find_text(r"\b(TODO|FIXME|XXX)\b"):
            yield file.name, line, match[0]


def rule_algo_is_pure(tree):
    """src/algo has no clock, randomness, thread, socket or hidden state."""
    for file in tree.cpp("src/algo"):
        for line, match in file.find(IMPURITIES):
            yield file.name, line, f"src/algo is pure: {match[0].strip()}"


def rule_no_wall_clock(tree):
    """The library never asks the wall clock."""
    for file in tree.cpp("src", "include"):
        for line, match in file.find(r"\bsystem_clock\b|\bCLOCK_REALTIME\b|\bgettimeofday\b"):
            yield file.name, line, match[0]


def rule_names_are_looked_up_in_one_place(tree):
    """Asio's resolver makes whoever ends its executor wait for the name server."""
    for file in tree.cpp("src"):
        own = file.name == "src/stores/common/look_up.cpp"
        for line, match in file.find(r"\basync_resolve\b|\bgetaddrinfo\b|\bresolver\s*\("):
            if not own:
                yield file.name, line, f"stores/common/look_up.hpp does it: {match[0]}"


def rule_no_machine_names(tree):
    """No path of somebody's machine, no host of a package registry."""
    for file in tree.files:
        for line, match in file.find_text(f"{MACHINE_PATHS}|{REGISTRIES}"):
            yield file.name, line, f"belongs to one machine: {match[0]}"


def rule_words(tree):
    """The library speaks with its own words."""
    for file in tree.cpp("include", "src") + tree.lua():
        for line, match in file.find_text(FOREIGN_WORDS, re.IGNORECASE):
            yield file.name, line, f"'{match[0]}': see docs/glossary.md"


def rule_no_bool_arguments(tree):
    """A bool argument says nothing at the call; an enum does. (A condition to check `holds`.)"""
    for file in tree.cpp("include", "src"):
        for line, match in file.find(r"[(,]\s*bool\s+(?!holds\b)(\w+)\s*[,)=]"):
            yield file.name, line, f"bool argument '{match[1]}': give it an enum"


def rule_links(tree):
    """Links in the documents lead somewhere."""
    for file in tree.files:
        if file.path.suffix != ".md":
            continue
        prose = re.sub(r"```.*?```", lambda m: "\n" * m[0].count("\n"), file.text, flags=re.DOTALL)
        for match in re.finditer(r"\]\(([^)\s]+)\)", prose):
            if not re.match(r"[a-z]+:", match[1]) and not leads_somewhere(tree, file, match[1]):
                yield file.name, prose.count("\n", 0, match.start()) + 1, f"dead link {match[1]}"


def leads_somewhere(tree, file, link):
    path, _, anchor = link.partition("#")
    target = (tree.root / file.path.parent / path).resolve() if path else tree.root / file.path
    if not target.exists():
        return False
    if not anchor or target.suffix != ".md":
        return True
    return anchor in documents.anchors(target.read_text())


ALL = {name.removeprefix("rule_"): rule
       for name, rule in [*globals().items(), *vars(async_calls).items(), *vars(commands).items(),
                    *vars(cache_rooms).items(), *vars(comment_subjects).items(),
                    *vars(decisions).items(), *vars(documents).items(),
                    *vars(old_names).items(), *vars(statements).items(),
                    *vars(store_pages).items(), *vars(time_limits).items()]
       if name.startswith("rule_")}
