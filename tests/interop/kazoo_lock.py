"""Debian's kazoo.recipe.lock.Lock, driven line by line.

    kazoo_lock.py HOSTS [EXTRA_PATTERN…]

Reads `take PATH TTL_MS` (the ttl is the session's business), `release PATH`; answers each with one
line: `yes`, `no` (held by another, or not ours), or `error …`. Ends with its input.
"""

import sys

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError


def take(client, patterns, path):
    """The lock, or None. The server may remove an empty container, ours or Curator's, between
    kazoo's look at it and its own node in it: then kazoo must be asked again."""
    while True:
        lock = client.Lock(path, "kazoo", extra_lock_patterns=patterns)
        try:
            return lock if lock.acquire(blocking=False) else None
        except NoNodeError:
            continue


def answer(client, locks, patterns, verb, path, ttl=None):
    if verb == "take":
        lock = take(client, patterns, path)
        if not lock:
            return "no"
        locks[path] = lock
        return "yes"
    if verb == "release":
        lock = locks.pop(path, None)
        return "yes" if lock and lock.release() else "no"
    return f"error unknown verb {verb}"


def main():
    client = KazooClient(hosts=sys.argv[1])
    client.start(timeout=20)
    locks = {}
    for line in sys.stdin:
        try:
            print(answer(client, locks, sys.argv[2:], *line.split()), flush=True)
        except Exception as why:  # the test shows it
            print(f"error {why!r}", flush=True)
    client.stop()


main()
