"""Runs a command where the one name server never answers.

    unshare --net --mount python3 silent_names.py COMMAND...

A look-up takes minutes there. The network and the resolv.conf are gone with their namespaces.
Ends with 77 when this user may not make them, else as the command does.
"""
import socket
import subprocess
import sys
import tempfile


def main():
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write("nameserver 127.0.0.1\noptions timeout:30 attempts:5\n")
        file.flush()
        try:
            subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
            subprocess.run(["mount", "--bind", file.name, "/etc/resolv.conf"], check=True)
            silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            silent.bind(("127.0.0.1", 53))
        except (OSError, subprocess.CalledProcessError) as why:
            print(why, file=sys.stderr)
            return 77
        return subprocess.call(sys.argv[1:])


sys.exit(main())
