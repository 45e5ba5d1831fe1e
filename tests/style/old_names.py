"""Names that the house has given up, each for a plain word of the field.

    old_names.py ROOT       prints where they still are, for old_names_left.txt

They are whole identifiers of the code (not of its prose): `wait_hub` is also the private member
`wait_hub_`, the test suite `WaitHub` or `WaitHubTest`, and a file `wait_hub….cpp`. A word that is
right in another sense is given up only where it had the wrong one.

What is left of them is in old_names_left.txt, word by word and file by file. That list only
shrinks: a name that comes to another file is a fault, and so is an entry that holds no more.
"""

import re
import sys
from typing import NamedTuple

from tree import Tree

LEFT = "tests/style/old_names_left.txt"
ALL = ("src", "include", "lab", "tests", "bench", "examples")
STORES = ("src/stores",)
RUNTIME = ("src/runtime",)

# How a word is used when it is given up.
ANY = "any"      # as any identifier
NAME = "name"    # as a type, a file, a function or a member; a variable may be called so
TYPE = "type"    # as a type or a file


class Old(NamedTuple):
    words: str     # with * for any letters
    say: str
    where: tuple = ALL
    use: str = ANY


OLD = [
    # A resource's waiters.
    Old("wait_hub session_place waiting_room lobby", "resource_queue"),
    Old("seat seats", "resource_queue", STORES),  # a board of the benchmarks has seats, too
    Old("place", "the thing that it is: an address, an entry, a position",
        ("src", "include"), NAME),
    Old("worker_place origin_place", "an address"),
    # One who waits.
    Old("contender session_acquire waiting_acquire", "waiter"),
    Old("candidate", "waiter (candidates stand in elections)", STORES),
    Old("acquire_operation", "waiter", ("src/stores/etcd",)),
    # What the operations of a store share.
    Old("memory_space session_shop surroundings", "store_state"),
    Old("hall engine", "store_state", STORES),  # the cache has an engine
    Old("core", "store_state", ("src/stores/etcd",)),
    # Connections, and what a server pushes.
    Old("link", "connection", STORES),  # elsewhere lists are linked; ::link() is the system's
    Old("link_listener", "connection_listener"),
    Old("session_pool gateway", "connection_pool"),
    Old("grant_channel grant_channels push_connection watch_hub", "subscription, watch"),
    Old("on_news on_node_event", "on_ and the event", STORES),
    # Completing whoever called; a request and its answer.
    Old("settle settle_with", "complete", STORES),
    Old("finish", "complete", ("src/stores/redis",)),
    Old("typed_command *_call", "operation", ("src/stores/redis",)),
    Old("asked_once", "operation"),
    Old("command job", "operation", ("src/stores/mysql",)),  # Redis has commands, threads have jobs
    Old("step", "operation", ("src/stores/etcd", "src/stores/zookeeper")),
    Old("errand errands", "operation, task"),
    Old("operation_board", "pending_operations"),
    Old("board_entry", "pending"),
    # Words that meant two things, and words too near to each other.
    Old("outlook", "what is expected of what"),
    Old("server_exam server_checks", "examination"),
    Old("waits", "what waits", STORES, TYPE),
    Old("hot_rules", "hot_thresholds (a rule is what people say of keys)", ("src/algo",)),
    Old("fleet_rules", "fleet_thresholds", ("src/algo", "src/cache")),
    Old("hot_list hot_list_reader", "rule_list, rule_list_reader"),
    # Stores of answers, each by what is in it.
    Old("cache_answers", "deliveries"),
    Old("kept_answers answers_kept", "unstored_answers"),
    Old("recent_answers", "answers_for_a_while"),
    Old("answers_meanwhile", "stale_copies"),
    Old("remembered_times", "plain_ends"),
    Old("late_signal", "signal_outlives_executor"),
    Old("seated unseat", "in_flight, take_out_of_flight"),
    # A hand-over is a release and the next waiter's grant in one step, and nothing else.
    Old("hand_over", "detach", ("include", "src/runtime", "src/c", "src/cli", "tests", "examples")),
    Old("hand_overs", "acquired_from_another",
        ("include", "src/runtime", "src/metrics")),
    # Words that are an election's, or a stale entry's, where they stood alone.
    Old("lease_term grant_term", "lease_validity, grant_validity"),
    Old("longest_term", "longest_validity", ("include", "src/runtime", "src/stores", "src/cli")),
    Old("lease_terms guard_terms start_terms attempt_terms getset_terms", "limits, options, times"),
    Old("grace_check", "stale_grace_check", ALL, TYPE),
    Old("grace_mark", "session_grace_mark"),
    Old("close_grace thread_grace", "close_limit, thread_limit"),
    Old("timer_queue", "shared_timer (a timer_queue is the runtime's)", STORES),
    Old("freshness_options", "refresh_policy", ("src/algo",)),
    # Pictures.
    Old("lane", "worker", STORES),
    Old("answers", "completion_queue", ("src/stores/sqlite",), TYPE),
    Old("lease_keeper", "timer_queue"),
    Old("kept", "timed", RUNTIME),
    Old("errand_gate", "task_tracker"),
    Old("way_back", "posting_gate"),
    Old("meter", "counters", RUNTIME),
    Old("figures", "metrics", RUNTIME),
    Old("bid", "lock_request", STORES),
    Old("rival", "holder_info", STORES),
    Old("possession", "held_lock", STORES),
    Old("turnstile", "fifo_gate"),
    Old("quietly", "no_throw"),
    Old("loose_threads", "detached_threads"),
    Old("herald heralded heralds", "prelude"),
    Old("hurried", "short_deadline", STORES),
    Old("stillborn", "failed_transport"),
    Old("doubt_list in_doubt", "unconfirmed_releases", STORES),
    Old("owed_release", "pending_release"),
    Old("pay", "retry", STORES),
    Old("take_office", "became_master"),
    Old("*silence*", "idle_timeout", ("src/stores/mysql",)),
    Old("visit", "one_shot_client", ("src/stores/redis",)),  # of a variant: std::visit
    Old("question", "raw_command", ("src/stores/redis",), TYPE),
    Old("address_guide", "resolver"),
    Old("trouble", "error", STORES),
    Old("told_of meaning judge", "to_failure, to_error", STORES),
]


def camel(word):
    return "".join(part.capitalize() for part in word.strip("*").split("_"))


def spellings(word):
    """How an identifier is written when it may be the word: a pattern."""
    return word.replace("*", r"\w*") + rf"_?|{camel(word)}(?:Test)?"


def pattern_of(word, use):
    """What finds the word in code."""
    declared = rf"\b(?:class|struct|using|enum|namespace)\s+{word}\b"
    if use == TYPE:
        return declared
    if use == NAME:
        return rf"{declared}|\b{word}\s*\(|\b{word}_\b|(?:\.|->|::)\s*{word}\b"
    name = word.replace("*", r"\w*")
    suite = rf"\bTEST\w*\s*\(\s*{camel(word)}\b|\b{camel(word)}Test\b"
    # Not what the standard library and the system call so.
    return rf"(?<!std::)(?<!\W::)\b{name}_?\b|{suite}"


COMPILED = [(word, old, re.compile(spellings(word)), re.compile(pattern_of(word, old.use)))
            for old in OLD for word in old.words.split()]


def names_in(file):
    """The code whose identifiers count: nothing of comments, literals and includes."""
    if file.is_cpp:
        return re.sub(r"^[ \t]*#\s*include.*$", "", file.code, flags=re.MULTILINE)
    return re.sub(r"--[^\n]*|'[^'\n]*'|\"[^\"\n]*\"", "", file.text)


def found(tree):
    """(word, file, line, identifier, what to say): each word once for each file."""
    for file in tree.cpp(*ALL) + tree.lua():
        code, stem = names_in(file), file.path.stem
        identifiers = set(re.findall(r"\w+", code))
        for word, old, spelling, pattern in COMPILED:
            if not file.under(*old.where):
                continue
            if stem == word or "_" in word and stem.startswith(word + "_"):
                yield word, file.name, 1, file.path.name, old.say
            elif any(map(spelling.fullmatch, identifiers)):
                match = pattern.search(code)
                if match:
                    line = code.count("\n", 0, match.start()) + 1
                    yield word, file.name, line, match[0], old.say


def rule_old_names(tree):
    """No name that the house has given up comes back."""
    list_ = tree.get(LEFT)
    lines = list_.lines if list_ else []
    left = [tuple(line.split()) for line in lines if line and not line.startswith("#")]
    seen = set()
    for word, name, line, identifier, say in found(tree):
        seen.add((word, name))
        if (word, name) not in left:
            yield name, line, f"'{identifier}' is an old name; say {say}"
    for number, line in enumerate(lines, 1):
        if line and not line.startswith("#") and tuple(line.split()) not in seen:
            yield LEFT, number, f"it is there no more: take it out ({line})"
    if left != sorted(left):
        yield LEFT, 1, "the list is not sorted"


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 64
    left = sorted({(word, name) for word, name, *_ in found(Tree(arguments[0]))})
    print("# What is left of the names that old_names.py gives up: the word, and the file where\n"
          "# it still is. The list only shrinks.")
    print("\n".join(f"{word} {name}" for word, name in left))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
