"""Debian's kazoo.recipe.lock.Lock as its users use it, timed beside ours.

    kazoo_lock.py HOSTS PATH

Reads `pairs N` and answers with the µs of an acquisition and its release, of N in a row; reads
`turn`, takes the lock, holds it for a millisecond and answers with the two times, in ns of the
monotonic clock: acquire() returned, release() was called. Ends with its input.
"""

import sys
import time

from kazoo.client import KazooClient


def pairs(lock, count):
    begin = time.monotonic_ns()
    for _ in range(count):
        lock.acquire()
        lock.release()
    return (time.monotonic_ns() - begin) / 1000 / count


def turn(lock):
    lock.acquire()
    acquired = time.monotonic_ns()
    time.sleep(0.001)
    released = time.monotonic_ns()
    lock.release()
    return f"{acquired} {released}"


def main():
    client = KazooClient(hosts=sys.argv[1])
    client.start(timeout=20)
    lock = client.Lock(sys.argv[2], "kazoo")
    for line in sys.stdin:
        words = line.split()
        print(turn(lock) if words[0] == "turn" else pairs(lock, int(words[1])), flush=True)
    client.stop()


main()
