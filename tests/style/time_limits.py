"""The rule of time limits in disguise: a busy machine makes no test red.

What was read from a clock before is compared with a later reading, and a fixed time beside it is
what the machine may take in between. A bound that the product promises is judged by the server's
own figures in one step, or by the order of events; what is left of an hour may lose minutes.
"""

import re

ASSERT = re.compile(r"\b(?:EXPECT|ASSERT)_(LT|LE|GT|GE|NEAR)"
                    r"\(((?:[^;\"]|\"[^\"]*\")*?)\)\s*(?:<<|;)")
FIXED = r"\b\d[\d']*(?:us|ms|s)\b|\b(?:micro|milli)?seconds[({]\s*\d"
READING = r"\bnow\(\)|\b(?:elapsed|took)\b"
# What is left of a time that runs on.
LEFT = r"\bremaining\b|\bleft\(\)|\bPTTL\b"
LEFT_OVER_ZERO = r",\s*[1-9][\d']*(?:us|ms|s)?\s*$"
LONG_NUMBER = 600_000  # ms: ten minutes and more bear a busy machine
ALLOWANCE = r"\b(?:tolerance|slack|reading_ms)\b"


def is_long(bound):
    digits = re.sub(r"\D", "", bound)
    return not re.search(r"[a-z]", bound) and int(digits or 0) >= LONG_NUMBER


def trouble(kind, text):
    if re.search(ALLOWANCE, text):
        return "a time that the machine is allowed"
    upper = kind in ("LT", "LE", "NEAR")
    if upper and re.search(READING, text) and re.search(FIXED, text):
        return "two readings of a clock and a fixed time"
    bound = re.search(LEFT_OVER_ZERO, text)
    if not upper and re.search(LEFT, text) and bound and not is_long(bound[0]):
        return "so much is left only if the machine is quick: take a longer time, and minutes"
    return None


def rule_time_limits(tree):
    """No assertion is a time limit for the machine."""
    for file in tree.cpp("tests"):
        for match in ASSERT.finditer(file.text):
            why = trouble(match[1], " ".join(match[2].split()))
            if why:
                yield file.name, file.line_at(match.start()), why
