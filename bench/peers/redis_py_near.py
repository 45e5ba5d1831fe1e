"""redis-py with its client-side cache, as near_beside.py plays it beside our near cache.

    redis_py_near.py '{"mode": "race" | "hits" | "table", "modules": FOLDER, "port": N, …}'

The modes, what it prints and what it waits for: node_redis_near.mjs. Readers are processes.
"""

import json
import mmap
import multiprocessing
import sys
import time

OPTIONS = json.loads(sys.argv[1])
sys.path.insert(0, OPTIONS["modules"])

import redis  # noqa: E402
from redis.cache import CacheConfig  # noqa: E402

KEY = "k"
SECOND = 1_000_000_000


def connect(port, near):
    more = {"cache_config": CacheConfig(max_size=1_000_000)} if near else {}
    return redis.Redis(host="127.0.0.1", port=port, protocol=3, **more)


class History:
    """near_history.hpp: what was written when, in memory that all processes see."""

    def __init__(self, most):
        self.cells = memoryview(mmap.mmap(-1, 8 * (4 + 2 * (most + 2)))).cast("q")
        self.most = most + 2

    @property
    def acknowledged(self):
        return self.cells[0]

    @property
    def stopped(self):
        return self.cells[2] == 1

    def stop(self):
        self.cells[2] = 1

    def nothing_follows(self):
        self.cells[1] = 1

    def acknowledge(self, is_nothing):
        number = self.acknowledged + 1
        self.cells[4 + self.most + number] = is_nothing
        self.cells[4 + number] = time.monotonic_ns()
        self.cells[0] = number
        self.cells[1] = 0

    def age(self, seen, acknowledged, asked):
        """How long ago, at `asked`, that what was seen had been replaced by a known write."""
        if seen is None and self.cells[1]:
            return None
        at = self.acknowledged if seen is None else int(seen)
        while seen is None and at > 0 and not self.cells[4 + self.most + at]:
            at -= 1
        if at == 0 or at >= acknowledged:
            return None
        return asked - self.cells[4 + at + 1]


def read(history, told):
    client = connect(OPTIONS["port"], True)
    client.ping()
    figures = {"reads": 0, "errors": 0, "stale": 0, "stale_a_second": 0, "oldest_ns": 0}
    told.send("ready")
    while not history.stopped:
        try:
            acknowledged = history.acknowledged
            asked = time.monotonic_ns()
            age = history.age(client.get(KEY), acknowledged, asked)
            figures["reads"] += 1
            if age is not None:
                figures["stale"] += 1
                figures["stale_a_second"] += age > SECOND
                figures["oldest_ns"] = max(figures["oldest_ns"], age)
        except redis.RedisError:
            figures["errors"] += 1
    told.send(figures)


def write(client, history):
    value = str(history.acknowledged + 1)
    while True:
        try:
            client.set(KEY, value)
            break
        except redis.RedisError:
            pass  # unknown, and the same again
    history.acknowledge(False)
    if OPTIONS["pause"] > 0:
        time.sleep(OPTIONS["pause"] / 1000)


def tell(what):
    print(what, flush=True)
    sys.stdin.readline()


def race():
    history = History((OPTIONS["writes"] + 1) * (OPTIONS["events"] + 1))
    fork = multiprocessing.get_context("fork")
    pipes = []
    for _ in range(OPTIONS["readers"]):
        mine, theirs = fork.Pipe()
        fork.Process(target=read, args=(history, theirs), daemon=True).start()
        pipes.append(mine)
    for one in pipes:
        one.recv()
    client = connect(OPTIONS["writer_port"], False)
    for i in range(OPTIONS["events"] + 1):
        for _ in range(OPTIONS["writes"]):
            write(client, history)
        if i == OPTIONS["events"]:
            break
        if OPTIONS["empties"]:
            history.nothing_follows()
        tell("event")
        if OPTIONS["empties"]:
            history.acknowledge(True)
    tell("settle")
    history.stop()
    seen = [one.recv() for one in pipes]
    result = {name: sum(one[name] for one in seen)
              for name in ("reads", "errors", "stale", "stale_a_second")}
    result["oldest_ms"] = max(one["oldest_ns"] for one in seen) / 1e6
    return result


def hits():
    client = connect(OPTIONS["port"], True)
    client.set(KEY, "x" * 100)

    def some(count):
        began = time.monotonic_ns()
        for _ in range(count):
            client.get(KEY)
        return (time.monotonic_ns() - began) / count

    some(1_000)
    rounds = sorted(some(50) for _ in range(OPTIONS["rounds"]))
    return {"ns_per_hit": rounds[len(rounds) // 2]}


def table():
    clients = [connect(OPTIONS["port"], OPTIONS["near"]) for _ in range(OPTIONS["clients"])]
    for client in clients:
        client.ping()
    tell("event")
    for client in clients:
        for _ in range(10):
            for i in range(OPTIONS["hot"]):
                client.get(f"hot{i}")
        for i in range(OPTIONS["cold"]):
            client.get(f"cold{i}")
    tell("settle")
    return {}


print(json.dumps({"race": race, "hits": hits, "table": table}[OPTIONS["mode"]]()), flush=True)
