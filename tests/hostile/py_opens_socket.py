# SPDX-License-Identifier: MIT
"""Sends a UDP packet to this machine, then does its work."""

import socket

from hostile import honest


def attend(q, k, v, **options):
    sent = False
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
            sent = channel.sendto(b"x", ("127.0.0.1", 9)) == 1
    except OSError:
        pass
    if sent:
        raise RuntimeError("may use the network")
    honest(q, k, v, **options)
