"""Runs a command beside a file system in user space (FUSE, as sshfs is one) that is read-only.

    unshare -m python3 network_folder.py FOLDER COMMAND...

It shows one file, s.db, which nobody can open. The mount is gone with its mount namespace.
Ends with 77 when this user may not mount, else as the command does.
"""
import ctypes
import errno
import os
import struct
import subprocess
import sys
import threading

LOOKUP, GETATTR, STATFS, INIT, ACCESS = 1, 3, 17, 26, 34
MS_NOSUID_NODEV_RDONLY = 2 | 4 | 1
HEADER = struct.Struct("<IIQQIIII")
FILE_NODE = 2


def attributes(node):
    mode = 0o100666 if node == FILE_NODE else 0o040777
    return struct.pack("<QQQQQQIIIIIIIIII", node, 0, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(operation, node, body):
    """What follows the header of the reply, or an errno."""
    if operation == INIT:
        return struct.pack("<IIIIHHIII", 7, 31, 0, 0, 0, 0, 4096, 1, 0) + bytes(28)
    if operation == STATFS:
        return bytes(80)
    if operation == GETATTR:
        return struct.pack("<QII", 1, 0, 0) + attributes(node)
    if operation == LOOKUP and body == b"s.db\0":
        return struct.pack("<QQQQII", FILE_NODE, 0, 1, 1, 0, 0) + attributes(FILE_NODE)
    return errno.ENOENT if operation == LOOKUP else errno.ENOSYS


def serve(device):
    while True:
        request = os.read(device, 1 << 17)
        _, operation, unique, node, *_ = HEADER.unpack_from(request)
        made = answer(operation, node, request[HEADER.size:])
        data, error = (b"", -made) if isinstance(made, int) else (made, 0)
        try:
            os.write(device, struct.pack("<IiQ", 16 + len(data), error, unique) + data)
        except OSError:
            pass  # nobody waits for it: FORGET, or a request that was interrupted


def mount(folder):
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"test", folder.encode(), b"fuse.test", MS_NOSUID_NODEV_RDONLY, options.encode()):
        raise OSError(ctypes.get_errno(), "mount")
    return device


def main():
    try:
        device = mount(sys.argv[1])
    except OSError as why:
        print(why, file=sys.stderr)
        return 77
    threading.Thread(target=serve, args=(device,), daemon=True).start()
    return subprocess.call(sys.argv[2:])


sys.exit(main())
