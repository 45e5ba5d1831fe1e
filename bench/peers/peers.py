"""What the scripts here share: a Redis of their own, a relay, processes that are driven line by
line, and tables."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
MODULES = ROOT / "build/peers/npm/node_modules"
REDIS_PY = ROOT / "build/peers/redis-py/usr/lib/python3/dist-packages"
PATIENCE = 20  # seconds, for what takes none
os.environ["PATH"] = f"{ROOT}/build/deps/bin:{os.environ['PATH']}"


def stop_when_told():
    """Nothing that was started stays behind when this process is told to end."""
    for number in (signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup
            signal.signal(number, lambda number, _: sys.exit(128 + number))


def until(holds, why):
    """Asks every 5 ms."""
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(why)
        time.sleep(0.005)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def stop(process):
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def npm_version(package):
    return json.loads((MODULES / package / "package.json").read_text())["version"]


class Wire:
    """A blocking RESP2 connection."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.file = self.socket.makefile("rb")

    def call(self, *words):
        raw = [str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(raw) +
                            b"".join(b"$%d\r\n%s\r\n" % (len(one), one) for one in raw))
        return self.reply()

    def reply(self):
        line = self.file.readline()
        if not line:
            raise ConnectionError("the server has closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2].decode()
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        return rest.decode()

    def info(self, section):
        lines = self.call("INFO", section).splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def close(self):
        self.file.close()
        self.socket.close()


class Server:
    """A redis-server on a free port, in a folder of its own; with: stopped in the end."""

    def __init__(self, program):
        self.program = program

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="herdlock-peers-")
        self.port = free_port()
        self.process = subprocess.Popen(
            [self.program, "--bind", "127.0.0.1", "--port", str(self.port), "--dir", self.folder,
             "--save", "", "--appendonly", "no"], stdout=subprocess.DEVNULL)
        try:
            until(self.answers, f"{self.program} does not start")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        stop(self.process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def answers(self):
        """Whether the process that was started does: another one may have taken its port."""
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.program} has ended with {self.process.returncode}")
        try:
            self.wire = Wire(self.port)
        except OSError:
            return False
        try:
            if self.wire.info("server").get("process_id") == str(self.process.pid):
                return True
        except (OSError, RuntimeError, ValueError):
            pass  # a stranger who does not know the question
        self.wire.close()
        return False

    def call(self, *words):
        return self.wire.call(*words)

    def info(self, section):
        return self.wire.info(section)

    def calls(self, command):
        counts = self.info("commandstats").get(f"cmdstat_{command}", "calls=0")
        return int(re.search(r"calls=(\d+)", counts)[1])

    def cpu(self):
        """Seconds of processor time so far."""
        used = self.info("cpu")
        return float(used["used_cpu_sys"]) + float(used["used_cpu_user"])


class Relay:
    """Between a port of its own and a server; can hold back all bytes while connections stay."""

    def __init__(self, target):
        self.target = target
        self.passing = threading.Condition()
        self.held = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.timer = None
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return  # closed
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self.pump, args=(source, sink), daemon=True).start()

    def pump(self, source, sink):
        """One direction; what is held back is the end, too."""
        try:
            while data := source.recv(65536):
                self.wait_to_pass()
                sink.sendall(data)
            self.wait_to_pass()
            sink.shutdown(socket.SHUT_WR)
        except OSError:  # one of both is broken, which ends the other direction
            self.wait_to_pass()
            for one in (source, sink):
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def wait_to_pass(self):
        with self.passing:
            self.passing.wait_for(lambda: not self.held)

    def hold(self, holds):
        with self.passing:
            self.held = holds
            self.passing.notify_all()

    def freeze(self, seconds):
        """From now on, when the freeze before has ended."""
        self.thawed()
        self.hold(True)
        self.timer = threading.Timer(seconds, self.hold, [False])
        self.timer.daemon = True
        self.timer.start()

    def thawed(self):
        if self.timer:
            self.timer.join()

    def close(self):
        if self.timer:
            self.timer.cancel()
        self.hold(False)
        self.listener.shutdown(socket.SHUT_RDWR)  # ends accept()
        self.listener.close()


class Driven:
    """A process that is told lines and tells lines; with: stopped in the end, at the latest after
    `deadline` seconds."""

    def __init__(self, argv, deadline, environment=None):
        self.process = subprocess.Popen(
            [str(one) for one in argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **(environment or {})}, start_new_session=True)
        self.late = False
        self.timer = threading.Timer(deadline, self.end)
        self.timer.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.timer.cancel()
        self.kill()
        self.process.wait()

    def end(self):
        self.late = True
        self.kill()

    def kill(self):
        """Its children, too: they are of its group, which is its own."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def tell(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def lines(self):
        for line in self.process.stdout:
            yield line.rstrip("\n")
        if self.late:
            raise TimeoutError("it did not end in its time")

    def result(self, events):
        """Answers each line that names one of `events` when that has happened; the last line's
        figures."""
        last = ""
        for last in self.lines():
            if last in events:
                events[last]()
                self.tell("done")
        if not last.startswith("{"):
            raise RuntimeError(f"it ended without figures, at: {last}")
        return json.loads(last)


def our_output(argv, deadline, environment, may_end_with=(0,)):
    """What one of our programs prints."""
    with Driven(argv, deadline, environment) as one:
        lines = list(one.lines())
        status = one.process.wait()
    if status not in may_end_with:
        raise RuntimeError(f"{Path(argv[0]).name} ended with {status}")
    return "\n".join(lines)


def our_figures(argv, deadline, environment):
    """Those of a scene of herdlock-lab with --json, and as `wrong`, which is told on standard
    error, too, the promises that were broken."""
    seen = json.loads(our_output(argv, deadline, environment, may_end_with=(0, 1)))
    wrong = seen.pop("broken")
    for sentence in wrong:
        print(f"{argv[1]}: {sentence}", file=sys.stderr, flush=True)
    return {**seen, "wrong": wrong} if wrong else seen


def status_of(results):
    """Bad when one did not run, or its own judge found something wrong."""
    return 1 if any("failed" in seen or "wrong" in seen for seen in results) else 0


def table(head, rows):
    """As a table of Markdown."""
    cells = [head, *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"
             for row in cells]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)
