"""Debian's redis.lock.Lock, driven line by line.

    redis_py_lock.py PORT

Reads `take NAME TTL_MS`, `extend NAME TTL_MS`, `release NAME`; answers each with one line: `yes`,
`no` (held by another, or no longer ours), or `error …`. Ends with its input.
"""

import sys

import redis
from redis.exceptions import LockError


def answer(client, locks, verb, name, ttl=None):
    if verb == "take":
        lock = client.lock(name, timeout=int(ttl) / 1000)
        if not lock.acquire(blocking=False):
            return "no"
        locks[name] = lock
        return "yes"
    try:
        if verb == "extend":
            locks[name].extend(int(ttl) / 1000, replace_ttl=True)
        elif verb == "release":
            locks[name].release()
        else:
            return f"error unknown verb {verb}"
    except LockError:
        return "no"
    return "yes"


def main():
    client = redis.Redis(port=int(sys.argv[1]))
    locks = {}
    for line in sys.stdin:
        try:
            print(answer(client, locks, *line.split()), flush=True)
        except Exception as why:  # the test shows it
            print(f"error {why!r}", flush=True)


main()
