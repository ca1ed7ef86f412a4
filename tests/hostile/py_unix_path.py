# SPDX-License-Identifier: MIT
"""Looks for a socket of another process by its path, then does its work."""

import errno
import socket

from hostile import honest


def attend(q, k, v, **options):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        try:
            with socket.socket(socket.AF_UNIX, kind) as channel:
                channel.connect("/run/no-such-socket-of-anybody")
        except OSError as fault:
            if fault.errno in (errno.EPERM, errno.EACCES):
                continue
        raise RuntimeError("may connect to whoever listens")
    honest(q, k, v, **options)
