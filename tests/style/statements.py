"""The rule of the statements: who chooses between two calls writes `if`."""

import re

SCOPES = ("include", "src", "lab", "tests", "bench", "examples")
# What comes before a statement in its text.
BEFORE = re.compile(r"\s*(else\b|case\b[^?]*?[^:]:(?!:)|default:|#[^\n]*\n"
                    r"|(?:if|for|while)\s*(?:constexpr\s*)?(\())")
EXPRESSION = r"(return|co_return|co_yield|throw|using|static_assert)\b"
# What gives a choice a place to go to: an assignment, a stream.
TAKEN = r"(?<![=<>!])=(?!=)|<<"


def statements(code):
    """(offset of the end, text) of each statement; those inside of a lambda stand for themselves,
    and what braces enclose is left out of the statement around."""
    stack, text, depth = [], "", 0
    for at, char in enumerate(code):
        if char == "{":
            stack.append((text, depth))
            text, depth = "", 0
        elif char == "}" and stack:
            text, depth = stack.pop()
            initialiser = depth > 0 or text and (not text[-1].isspace() or text.endswith("= "))
            text = text + "{}" if initialiser else ""
        elif char == ";" and depth == 0:
            yield at, text
            text = ""
        else:
            depth += (char in "([") - (char in ")]")
            text += char


def bare(statement):
    """Without the conditions, loops and labels in front of it."""
    while match := BEFORE.match(statement):
        end, depth = match.end(), 1 if match[2] else 0
        while depth and end < len(statement):
            depth += (statement[end] == "(") - (statement[end] == ")")
            end += 1
        statement = statement[end:]
    return statement.strip()


def outermost(statement):
    """What stands in no bracket."""
    depth, text = 0, ""
    for char in statement:
        depth -= char in ")]"
        text += char if depth == 0 else ""
        depth += char in "(["
    return text


def rule_no_choice_as_a_statement(tree):
    """No `a ? f() : g();`: what is done for its effect is chosen by `if`."""
    for file in tree.cpp(*SCOPES):
        for at, text in statements(file.code) if "?" in file.code else ():
            head, choice, _ = outermost(bare(text)).partition("?") if "?" in text else ("", "", "")
            if choice and not re.match(EXPRESSION, head) and not re.search(TAKEN, head):
                yield (file.name, file.code.count("\n", 0, at) + 1,
                       "a choice for the sake of its effect: write if")
