"""The rules of the documents: what they name is there, and what names them finds it."""

import fnmatch
import re

from tree import TOKEN

KNOWN_BUGS = "docs/known-bugs.md"
TESTING = "docs/testing.md"
DECISIONS = "docs/decisions/"
# A page that answers is short: what it may be called, and how many lines it may have.
LONGEST = {"docs/guide/*": 80, "docs/architecture.md": 170}
BUG = r"\b[BRSH]\d{1,2}\b"


def comments(file):
    """(line number, text) of each comment."""
    if file.path.suffix == ".lua":
        for line, match in file.find_text(r"--[^\n]*"):
            yield line, match[0]
        return
    for match in TOKEN.finditer(file.text):
        if match["note"]:
            yield file.line_at(match.start()), match[0]


def without_blocks(text):
    """Prose alone; line numbers stay."""
    return re.sub(r"^```.*?^```", lambda m: "\n" * m[0].count("\n"), text,
                  flags=re.DOTALL | re.MULTILINE)


def anchor_of(title):
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def anchors(text):
    """Those of a page's headings."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return {anchor_of(title) for title in re.findall(r"^#+\s+(.*?)\s*#*$", prose, re.MULTILINE)}


def rule_bugs_are_known(tree):
    """A bug that a comment names by its number has a section in docs/known-bugs.md."""
    page = tree.get(KNOWN_BUGS)
    heads = re.findall(r"^#+ (.+?):", page.text, re.MULTILINE) if page else []
    known = {number for head in heads for number in re.findall(BUG, head)}
    for file in tree.cpp("src", "include", "tests") + tree.lua():
        for line, comment in comments(file):
            for match in re.finditer(BUG, comment):
                if match[0] not in known:
                    at = line + comment.count("\n", 0, match.start())
                    yield file.name, at, f"{match[0]} has no section in {KNOWN_BUGS}"


def rule_guarding_tests_exist(tree):
    """The tests that docs/known-bugs.md and docs/testing.md name are where they say."""
    for page in filter(None, map(tree.get, (KNOWN_BUGS, TESTING))):
        for line, match in page.find_text(r"`(\w+)\.(\w+)` \(([\w./-]+)\)"):
            suite, test, path = match.groups()
            file = tree.get(f"tests/{path}")
            if not file or not re.search(rf"^(TYPED_)?TEST(_F|_P)?\s*\(\s*{suite},\s*{test}\b",
                                         file.code, re.MULTILINE):
                yield page.name, line, f"tests/{path} has no test {suite}.{test}"


def rule_promises_are_tested(tree):
    """docs/testing.md leads from each promise to its test."""
    page, tests = tree.get("docs/guarantees.md"), tree.get(TESTING)
    for line, match in page.find_text(r"^### (?!Not promised)(.*)$", re.MULTILINE) if page else []:
        if not tests or f"(guarantees.md#{anchor_of(match[1])})" not in tests.text:
            yield page.name, line, f"{TESTING} has no test of: {match[1]}"


def rule_documents_indexed(tree):
    """docs/README.md leads to each page; the decisions have an index of their own."""
    index = tree.get("docs/README.md")
    for file in tree.files:
        inside = file.under("docs") and file.path.suffix == ".md" and file is not index
        lists = tree.get(DECISIONS + "README.md")
        if not file.name.startswith(DECISIONS) or file is lists:
            lists = index
        page = file.name.removeprefix(lists.path.parent.as_posix() + "/") if lists else ""
        if inside and (not lists or f"({page})" not in lists.text):
            yield file.name, 1, f"{lists.name if lists else 'no index'} does not lead here"


def rule_document_length(tree):
    """The pages that are to answer stay short."""
    for file in tree.files:
        for pattern, limit in LONGEST.items():
            if fnmatch.fnmatch(file.name, pattern) and len(file.lines) > limit:
                yield file.name, limit + 1, f"{len(file.lines)} lines; at most {limit}"


def rule_named_files_exist(tree):
    """A path of the house that a document or a comment names is there. (NAME stands for any.)"""
    for file in tree.files:
        if file.path.suffix == ".md" and file.name != "CHANGELOG.md":
            text = without_blocks(file.text)
            pattern = r"`((?:src|include|lab|tests|bench|examples|cmake|docs)/[^`\s]+)`"
        elif file.is_cpp or file.path.suffix == ".lua":
            text, pattern = file.text, r"\b(docs/[\w/-]+\.md)\b"
        else:
            continue
        for match in re.finditer(pattern, text):
            if not there(tree, match[1]):
                yield file.name, text.count("\n", 0, match.start()) + 1, f"no file {match[1]}"


def there(tree, path):
    pattern = re.sub(r"\b(NAME|NNN)\b", "*", path)
    return (tree.root / path).exists() or any(fnmatch.fnmatch(name, pattern) or
                                              fnmatch.fnmatch(name, pattern.rstrip("/") + "/*")
                                              for name in tree.names)


def rule_code_in_documents(tree):
    """C++ in docs/, but for the guide's, is compiled by no test: it belongs into examples/."""
    for file in tree.files:
        if file.under("docs") and not file.under("docs/guide") and file.path.suffix == ".md":
            for line, match in file.find_text(r"^```(cpp|c\+\+|cxx|c)\s*$", re.MULTILINE):
                yield file.name, line, f"a block of {match[1]}: put it into examples/ and link it"


def rule_url_options_exist(tree):
    """An option that a document shows in a store's URL is one that some store takes."""
    stores = "".join(file.text for file in tree.cpp("src/stores"))
    for file in tree.files:
        if file.path.suffix == ".md":
            for line, match in file.find_text(r"\w+:(?://)?[^\s`?]*\?[^\s`)]*"):
                for option in re.findall(r"[?&]([a-z_]+)=", match[0]):
                    if f'"{option}"' not in stores:
                        yield file.name, line, f"no store takes {option}"
