"""A fleet whose loader fails for a while: ours, and npm's bentocache, in one run.

    outage_beside.py [--outage S] [--processes N] [--callers N] [--ttl MS] [--load MS] [--pause MS]
                     [--back-off MS] [--most MS] [--peers PEER,…] [--server PROGRAM] [--json]

Ours is `herdlock-lab freshness --case outage`, whose back-off grows from --back-off to --most.
Bentocache 1.6 has one back-off, which is given --most, and these peers:

    swr      as it is by default: a stale value answers at once and a load begins beside it
    waits    `timeout` of a second: callers wait for the load, and it fails before they give up
    l2       as swr, without values in the process

`./dev setup peers` installs bentocache, `./dev peers outage` builds ours and runs this.
"""

import argparse
import contextlib
import json
import sys
import threading
import time

import peers
from peers import MODULES, Driven, Server

PEERS = {"herdlock": None, "swr": {"timeout": 0, "tiers": 2},
         "waits": {"timeout": 1000, "tiers": 2}, "l2": {"timeout": 0, "tiers": 1}}


def ours(options):
    argv = [options.build / "herdlock-lab", "freshness", "--json", "--case", "outage",
            "--outage", f"{options.outage * 1000:.0f}ms", "--processes", options.processes,
            "--callers", options.callers, "--ttl", f"{options.ttl}ms",
            "--load", f"{options.load}ms", "--pause", f"{options.pause}ms",
            "--first", f"{options.back_off}ms", "--most", f"{options.most}ms"]
    told = peers.our_figures(argv, options.outage + options.deadline,
                             {"HERDLOCK_TEST_REDIS": options.server})
    waits = told["get_or_load"]
    seen = {"failed_loads": told["loads_in_the_outage"], "recovered_ms": told["recovered_after_ms"],
            "calls": told["calls"], "stale": told["stale_answers"], "errors": told["errors"],
            "p50_us": 1000 * waits["p50_ms"], "p999_us": 1000 * waits["p99_9_ms"],
            "longest_us": 1000 * waits["slowest_ms"]}
    return {**seen, "wrong": told["wrong"]} if "wrong" in told else seen


class Fleet:
    """Processes that all write lines; what they have written so far, and a wait for more."""

    def __init__(self, members):
        self.members = members
        self.written = threading.Condition()
        self.loads = 0
        self.recovered = []
        self.results = []
        self.ended = 0
        for one in members:
            threading.Thread(target=self.listen, args=(one,), daemon=True).start()

    def listen(self, one):
        try:
            for line in one.lines():
                with self.written:
                    if line == "loaded":
                        self.loads += 1
                    elif line.startswith("recovered"):
                        self.recovered.append(int(line.split()[1]) / 1e6)
                    else:
                        self.results.append(json.loads(line))
                    self.written.notify_all()
        except (TimeoutError, ValueError):
            pass  # it is missing among the results
        with self.written:
            self.ended += 1
            self.written.notify_all()

    def wait_for(self, holds, seconds, why):
        with self.written:
            if not self.written.wait_for(lambda: holds() or self.lost(), seconds) or not holds():
                raise RuntimeError(why)

    def lost(self):
        return self.ended > len(self.results)

    def tell(self, text):
        for one in self.members:
            one.tell(text)


def of_bentocache(terms, options):
    with Server(options.server) as server, contextlib.ExitStack() as started:
        more = {"modules": str(MODULES), "port": server.port, "callers": options.callers,
                "ttl": options.ttl, "load": options.load, "pause": options.pause,
                "back_off": options.most, **terms}
        argv = ["node", peers.HERE / "bentocache_outage.mjs", json.dumps(more)]
        server.call("SET", "plain", "v")
        limit = options.outage + options.deadline
        members = [started.enter_context(Driven(argv, limit)) for _ in range(options.processes)]
        return play(Fleet(members), options)


def play(fleet, options):
    fleet.wait_for(lambda: fleet.loads >= 3 + options.processes, options.deadline,
                   "nothing was loaded")
    begin = time.monotonic_ns() + options.ttl * 500_000
    fleet.tell(f"outage {begin} {begin + int(options.outage * 1e9)}")
    fleet.wait_for(lambda: fleet.recovered, options.outage + options.deadline, "no recovery")
    fleet.tell("stop")
    fleet.wait_for(lambda: len(fleet.results) == len(fleet.members), options.deadline,
                   "a process did not tell its figures")
    seen = {name: sum(one[name] for one in fleet.results)
            for name in ("failed_loads", "calls", "stale", "errors")}
    waits = {}
    for one in fleet.results:
        for bucket, count in one["waits"].items():
            waits[int(bucket)] = waits.get(int(bucket), 0) + count
    return {**seen, "recovered_ms": min(fleet.recovered), "p50_us": quantile(waits, 0.5),
            "p999_us": quantile(waits, 0.999),
            "longest_us": 1000 * max(one["longest_ms"] for one in fleet.results)}


def quantile(waits, share):
    """Of a histogram of bentocache_outage.mjs: 16 buckets for each doubling."""
    left = int(sum(waits.values()) * share)
    for bucket in sorted(waits):
        if waits[bucket] > left:
            return 2 ** ((bucket + 1) / 16)
        left -= waits[bucket]
    return 0


def name_of(peer):
    if peer == "herdlock":
        return peer
    return f"bentocache {peers.npm_version('bentocache')}, {peer}"


def shown(results):
    rows = [[name, f"{seen['failed_loads']:,.0f}", f"{seen['calls']:,.0f}",
             f"{seen['stale']:,.0f}", f"{seen['errors']:,.0f}", f"{seen['p50_us'] / 1000:,.2f} ms",
             f"{seen['p999_us'] / 1000:,.1f} ms", f"{seen['longest_us'] / 1000:,.1f} ms",
             f"{seen['recovered_ms']:,.0f} ms"]
            for name, seen in results if "failed" not in seen]
    failed = [f"{name}: {seen['failed']}" for name, seen in results if "failed" in seen]
    head = ["cache", "calls of the loader in the outage", "answers", "stale", "errors", "p50",
            "p99.9", "longest", "loaded again after"]
    return "\n".join([peers.table(head, rows), *failed])


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--server", default="redis-server-8")
    parser.add_argument("--build", default=peers.ROOT / "build/release", type=peers.Path)
    parser.add_argument("--outage", default=10, type=float, help="seconds")
    parser.add_argument("--processes", default=8, type=int)
    parser.add_argument("--callers", default=50, type=int, help="in each process")
    for name, value in (("ttl", 500), ("load", 50), ("pause", 100), ("back-off", 250),
                        ("most", 2000)):
        parser.add_argument(f"--{name}", default=value, type=int, help="ms")
    parser.add_argument("--deadline", default=120, type=float, help="seconds, beside the outage")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.peers = options.peers.split(",")
    if not set(options.peers) <= set(PEERS):
        parser.error(f"peers: {', '.join(PEERS)}")
    return options


def main():
    options = parsed()
    peers.stop_when_told()
    results = []
    for peer in options.peers:
        print(peer, file=sys.stderr, flush=True)
        name = peer
        try:
            name = name_of(peer)
            own = PEERS[peer]
            seen = ours(options) if own is None else of_bentocache(own, options)
        except (OSError, RuntimeError, ValueError) as why:
            seen = {"failed": f"{type(why).__name__}: {why}"}
        results.append((name, seen))
    if options.json:
        print(json.dumps([{"cache": name, **seen} for name, seen in results], indent=1))
    else:
        print(shown(results))
    return peers.status_of(seen for _, seen in results)


if __name__ == "__main__":
    sys.exit(main())
