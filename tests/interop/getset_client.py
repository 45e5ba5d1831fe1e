"""The SETNX/GETSET lock as clients wrote it by the documentation of SETNX, driven line by line.

    getset_client.py PORT [SECONDS_AHEAD]

The same lines as redis_py_lock.py; with a second argument its clock is that much ahead. Its
numbers are whole seconds, read with int(): the strictest of the readers that are about.
"""

import sys
import time

import redis


AHEAD = float(sys.argv[2]) if len(sys.argv) > 2 else 0


def clock():
    return int(time.time() + AHEAD)


class Lock:
    """acquire, extend and release of <current Unix time + lock timeout + 1>."""

    def __init__(self, client, name, timeout):
        self.client, self.name, self.timeout, self.until = client, name, timeout, 0

    def take(self):
        now = clock()
        until = now + self.timeout + 1
        taken = self.client.setnx(self.name, until)
        if not taken:
            stored = self.client.get(self.name)
            if stored is not None and now > int(stored):
                replaced = self.client.getset(self.name, until)
                taken = replaced is None or now > int(replaced)
        if taken:
            self.until = until
        return bool(taken)

    def extend(self, timeout):
        now = clock()
        if now >= self.until:
            return False
        self.until = now + timeout + 1
        self.client.getset(self.name, self.until)
        return True

    def release(self):
        return clock() < self.until and self.client.delete(self.name) == 1


def answer(client, locks, verb, name, ttl="0"):
    seconds = -(-int(ttl) // 1000)
    if verb == "take":
        lock = Lock(client, name, seconds)
        if not lock.take():
            return "no"
        locks[name] = lock
        return "yes"
    if verb == "extend":
        return "yes" if locks[name].extend(seconds) else "no"
    if verb == "release":
        return "yes" if locks.pop(name).release() else "no"
    return f"error unknown verb {verb}"


def main():
    client = redis.Redis(port=int(sys.argv[1]))
    locks = {}
    for line in sys.stdin:
        try:
            print(answer(client, locks, *line.split()), flush=True)
        except Exception as why:  # the test shows it
            print(f"error {why!r}", flush=True)


main()
