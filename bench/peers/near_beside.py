"""The near cache beside other clients that keep values in the process: are they too old, and what
does a hit cost? All in one run, over servers of one version.

    near_beside.py [--cases CASE,…] [--peers PEER,…] [--server PROGRAM] [--json] …

The cases are those of `herdlock-lab near-soak`, which counts for ours; here the peers do the same:

    write    nothing but writes by another connection, 2 ms between them
    flush    FLUSHALL, after 50 writes
    at_once  FLUSHALL directly after a write, so that readers are reading
    kill     the connections of all clients are killed
    freeze   the readers' connection stands still for --freeze seconds
    hits     the time of a hit on one key: the median of many rounds
    table    what the server keeps for ten clients that read 16 hot keys ten times and --cold others
             once, and its processor time for a read, with and without the client's cache

A reader is a thread or process of its own. One of node-redis gives its loop a turn after each read,
for pushes are seen by that alone. No reader of ours uses a fence: peers have none.

`./dev setup peers` installs the peers, `./dev peers near` builds ours and runs this.
"""

import argparse
import contextlib
import json
import re
import subprocess
import sys
import time

import peers
from peers import MODULES, REDIS_PY, Driven, Relay, Server

RACES = {"write": {}, "flush": {}, "at_once": {"writes": 1, "pause": 0}, "kill": {}, "freeze": {}}
CASES = (*RACES, "hits", "table")
NODE = ("node", peers.HERE / "node_redis_near.mjs")
PEERS = {
    "herdlock": None,
    "node-redis": (*NODE, {"modules": str(MODULES), "package": "redis"}),
    "node-redis-5": (*NODE, {"modules": str(MODULES), "package": "redis-5"}),
    "redis-py": ("/usr/bin/python3", peers.HERE / "redis_py_near.py", {"modules": str(REDIS_PY)}),
}


def version(peer):
    if peer == "herdlock":
        return peer
    if peer == "redis-py":
        names = [one.name for one in REDIS_PY.glob("redis-*.dist-info")]
        if not names:
            raise FileNotFoundError(f"no redis-py in {REDIS_PY}")
        return "redis-py " + names[0].removeprefix("redis-").removesuffix(".dist-info")
    return f"node-redis {peers.npm_version(PEERS[peer][2]['package'])}"


def terms_of(options, case):
    terms = {"events": options.events, "writes": 50, "pause": 2, "readers": options.readers,
             **RACES[case]}
    if case == "at_once":
        terms["events"] *= 20
    if case == "freeze":
        terms["events"] = options.freezes
    return terms


def race_of_ours(options, case):
    terms = {"case": "flush" if case == "at_once" else case, "fence-every": 0,
             "freeze": f"{options.freeze * 1000:.0f}ms", **terms_of(options, case)}
    terms["pause"] = f"{terms['pause']}ms"
    argv = [options.build / "herdlock-lab", "near-soak", "--json"]
    for name, value in terms.items():
        argv += [f"--{name}", value]
    seen = peers.our_figures(argv, options.deadline, {"HERDLOCK_TEST_REDIS": options.server})
    del seen["case"]  # at once: it is ours of flush
    return seen


def told(peer, more, options):
    *argv, own = PEERS[peer]
    return Driven([*argv, json.dumps({**own, **more})], options.deadline)


def all_keep_it(server):
    """The readers have read the last value: no read comes any more."""
    seen = [-1]

    def quiet():
        seen.append(server.calls("get"))
        time.sleep(0.1)
        return seen[-1] == seen[-2]

    peers.until(quiet, "readers go on asking the server")


def race_of(peer, options, case):
    terms = terms_of(options, case)
    with Server(options.server) as server, contextlib.closing(Relay(server.port)) as relay:
        events = {"write": lambda: None,
                  "flush": lambda: server.call("FLUSHALL"),
                  "at_once": lambda: server.call("FLUSHALL"),
                  "kill": lambda: server.call("CLIENT", "KILL", "TYPE", "normal"),
                  "freeze": lambda: (all_keep_it(server), relay.freeze(options.freeze))}
        more = {"mode": "race", "port": relay.port if case == "freeze" else server.port,
                "writer_port": server.port, "empties": case in ("flush", "at_once"), **terms}
        with told(peer, more, options) as one:
            seen = one.result({"event": events[case], "settle": relay.thawed})
        seen["hits"] = 100 * max(0, 1 - server.calls("get") / max(1, seen["reads"]))
    return seen


def hits_of_ours(options):
    argv = [options.build / "bench/herdlock_bench", "--filter", "near.", "--json"]
    said = peers.our_output(argv, options.deadline, {"HERDLOCK_TEST_REDIS": options.server})
    lines = {one["name"]: one["value"] for one in json.loads(said[said.index("["):])}
    return {"ns_per_hit": lines["near.hit_1_threads"], "copying": lines["near.copying_hit"],
            "two_threads": lines["near.hit_2_threads"]}


def hits_of(peer, options):
    with Server(options.server) as server:
        more = {"mode": "hits", "port": server.port, "rounds": options.rounds}
        with told(peer, more, options) as one:
            return one.result({})


def table_of(peer, options):
    seen = {}
    for near in (False, True):
        with Server(options.server) as server:
            for i in range(options.cold):
                server.call("SET", f"cold{i}", "x" * 100)
            for i in range(16):
                server.call("SET", f"hot{i}", "x" * 100)
            marks = {}

            def mark(name):
                marks[name] = (server.cpu(), server.calls("get"),
                               int(server.info("memory")["used_memory"]),
                               server.info("stats")["tracking_total_items"])

            more = {"mode": "table", "port": server.port, "near": near, "clients": 10, "hot": 16,
                    "cold": options.cold}
            with told(peer, more, options) as one:
                one.result({name: lambda name=name: mark(name) for name in ("event", "settle")})
            begin, end = marks["event"], marks["settle"]
            seen["near" if near else "off"] = {
                "items": int(end[3]), "bytes": end[2] - begin[2], "gets": end[1] - begin[1],
                "us_per_get": 1e6 * (end[0] - begin[0]) / (end[1] - begin[1])}
    return seen


def play(peer, case, options):
    ours = peer == "herdlock"
    if case == "hits":
        return hits_of_ours(options) if ours else hits_of(peer, options)
    if case == "table":
        return None if ours else table_of(peer, options)
    return race_of_ours(options, case) if ours else race_of(peer, options, case)


def shown(results):
    races = [[case, name, f"{seen['reads']:,.0f}", f"{seen['hits']:.1f} %",
              f"{seen['errors']:,.0f}", f"{seen['stale']:,.0f}",
              f"{1e6 * seen['stale'] / max(1, seen['reads']):,.0f}", f"{seen['oldest_ms']:,.1f} ms",
              f"{seen['stale_a_second']:,.0f}"]
             for case, name, seen in results if case in RACES and "failed" not in seen]
    hits = [[name, *(f"{seen[what]:,.0f} ns" if what in seen else ""
                     for what in ("ns_per_hit", "copying", "two_threads"))]
            for case, name, seen in results if case == "hits" and "failed" not in seen]
    tables = [[name, near, f"{one['gets']:,}", f"{one['items']:,}", f"{one['bytes']:,}",
               f"{one['us_per_get']:.2f} us"]
              for case, name, seen in results if case == "table" and "failed" not in seen
              for near, one in seen.items()]
    parts = [(["case", "client", "reads", "near hits", "errors", "too old", "of a million",
               "oldest", "older than 1 s"], races),
             (["client", "a hit", "with a copy", "2 threads"], hits),
             (["client", "its cache", "reads at the server", "items in its table", "memory, bytes",
               "processor time a read"], tables)]
    text = "\n\n".join(peers.table(head, rows) for head, rows in parts if rows)
    failed = [f"{case}, {name}: {seen['failed']}"
              for case, name, seen in results if "failed" in seen]
    return "\n".join([text, *failed])


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--server", default="redis-server-8",
                        help="redis-py asks for 7.4 or newer, and for Redis")
    parser.add_argument("--build", default=peers.ROOT / "build/release", type=peers.Path)
    parser.add_argument("--events", default=100, type=int, help="20 times as many at once")
    parser.add_argument("--readers", default=2, type=int)
    parser.add_argument("--freeze", default=5, type=float, help="seconds, 30 at most")
    parser.add_argument("--freezes", default=2, type=int)
    parser.add_argument("--rounds", default=201, type=int, help="of hits")
    parser.add_argument("--cold", default=2_000, type=int)
    parser.add_argument("--deadline", default=300, type=float,
                        help="seconds for one peer in one case")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.cases, options.peers = options.cases.split(","), options.peers.split(",")
    if not set(options.cases) <= set(CASES) or not set(options.peers) <= set(PEERS):
        parser.error(f"cases: {', '.join(CASES)}; peers: {', '.join(PEERS)}")
    options.freeze = min(options.freeze, 30)
    return options


def main():
    options = parsed()
    peers.stop_when_told()
    said = subprocess.run([options.server, "--version"], capture_output=True, text=True, check=True)
    server = re.search(r"v=(\S+)", said.stdout)[0]
    print(f"{options.server} {server}", file=sys.stderr)
    results = []
    for case in options.cases:
        for peer in options.peers:
            print(f"{case}, {peer}", file=sys.stderr, flush=True)
            name = peer
            try:
                name = version(peer)
                seen = play(peer, case, options)
            except (OSError, RuntimeError, ValueError) as why:
                seen = {"failed": f"{type(why).__name__}: {why}"}
            if seen is not None:
                results.append((case, name, seen))
    if options.json:
        print(json.dumps([{"case": case, "client": name, **seen} for case, name, seen in results],
                         indent=1))
    else:
        print(shown(results))
    return peers.status_of(seen for _, _, seen in results)


if __name__ == "__main__":
    sys.exit(main())
