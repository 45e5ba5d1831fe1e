"""The rule of the asynchronous calls: each is work for the executor of its handler, and a test
shows it."""

import re

TEST = "tests/unit/async_work_test.cpp"
ONE_PLACE = "include/herdlock/detail/async.hpp"
DECLARED = re.compile(r"\b(?:auto|awaitable<[^;{}()]*>)\s+(async_\w+)\s*\(")
GOES_THROUGH = re.compile(r"\binitiate(_as)?<|\basync_\w+\(|\bco_await\b")


def body_behind(code, at):
    """The text between the braces of the function whose name ends here; empty for a declaration."""
    match = re.compile(r"[;{]").search(code, end_of_group(code, at))
    if not match or match[0] == ";":
        return ""
    return code[match.start():end_of_group(code, match.start())]


def end_of_group(code, at):
    depth = 0
    for here in range(at, len(code)):
        depth += (code[here] in "({") - (code[here] in ")}")
        if depth == 0:
            return here + 1
    return len(code)


def goes_through(code, body):
    """By itself, or by a function of the same header that it calls."""
    if GOES_THROUGH.search(body):
        return True
    return any(GOES_THROUGH.search(body_behind(code, match.end() - 1))
               for name in set(re.findall(r"\b(\w+)\(", body))
               for match in re.finditer(rf"\bauto {name}\(", code))


def rule_async_calls_are_work(tree):
    """Each async_ function of a public header begins in detail/async.hpp, where its handler's
    executor gets work, and is called in tests/unit/async_work_test.cpp, which shows it."""
    test = tree.get(TEST)
    for file in tree.cpp("include"):
        for line, _ in file.find(r"\basync_(initiate|compose)\s*<"):
            if file.name != ONE_PLACE:
                yield file.name, line, "an operation begins with detail::initiate"
        if file.under("include/herdlock/detail"):
            continue
        for line, match in file.find(DECLARED):
            name = match[1]
            if not goes_through(file.code, body_behind(file.code, match.end() - 1)):
                yield file.name, line, f"{name} does not begin with detail::initiate"
            if not test or not re.search(rf"\b{name}\(", test.code):
                yield file.name, line, f"{TEST} does not call {name}"
