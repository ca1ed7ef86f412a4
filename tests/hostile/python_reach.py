# SPDX-License-Identifier: MIT
# ruff: noqa: E402, F811
"""Python subjects that reach for the loop, the clock, sockets and files.
Each part behind a mark is a module of its own, which gauntlet.py cuts out; nothing imports this
file as a whole."""

# ==== py_patches_timer
"""Patches the clock of its interpreter so that time passes at a tenth of its speed."""

import time

from hostile import honest as attend

__all__ = ["attend"]
real = time.perf_counter_ns
begin = real()
time.perf_counter_ns = lambda: begin + (real() - begin) // 10


# ==== py_patches_loop
"""Replaces the loop that times it: one call is made and told as many."""

import sys
import time

from hostile import honest


def attend(q, k, v, **options):
    honest(q, k, v, **options)
    # A quick turn has two samples of so long a call, so the lie is half of it; work, on one thread,
    # by the clock: what a call on new inputs may be late must stay below a quarter of it.
    end = time.thread_time_ns() + 40_000_000
    while time.thread_time_ns() < end:
        pass


def take_samples(call, samples, calls):
    begin = time.perf_counter_ns()
    result = call()
    spent = time.perf_counter_ns() - begin
    return [max(1, spent // samples)] * samples, result


sys.modules["__main__"].take_samples = take_samples


# ==== py_shifts_samples
"""Finds the list of samples in its caller's frame and moves time from most of them to a few: the
sum stays, the median lies. Nothing is patched."""

import sys
import time

from hostile import honest


def attend(q, k, v, **options):
    honest(q, k, v, **options)
    end = time.thread_time_ns() + 2_000_000
    while time.thread_time_ns() < end:
        pass
    frame = sys._getframe(1)
    while frame is not None and "sample_ns" not in frame.f_locals:
        frame = frame.f_back
    samples = frame.f_locals["sample_ns"] if frame is not None else []
    if len(samples) % 5 == 4:
        for place in (-2, -3, -4):
            moved = samples[place] // 2
            samples[place] -= moved
            samples[-1] += moved


# ==== py_searches_heap
"""Looks through all objects of its interpreter for the expected result."""

import gc

import numpy
from hostile import honest


def attend(q, k, v, **options):
    inputs = [id(q), id(k), id(v), id(options["out"])]
    for thing in gc.get_objects():
        for value in thing.values() if isinstance(thing, dict) else ():
            if (
                isinstance(value, numpy.ndarray)
                and value.shape == options["out"].shape
                and id(value) not in inputs
                and value.base is None
            ):
                options["out"][...] = value  # wrong unless it is the reference
                return
    honest(q, k, v, **options)


# ==== py_writes_wire
"""Writes an answer of its own on the private socket."""

import os

from hostile import honest


def attend(q, k, v, **options):
    os.write(3, b'{"n": 1, "ok": true, "call_us": 0.001}')
    honest(q, k, v, **options)


# ==== py_replaces_module
"""Overwrites modules where later subjects might import them, then does its work."""

import pathlib
import sys

from hostile import honest as attend

__all__ = ["attend"]
for folder in [*sys.path, pathlib.Path(sys.argv[0]).parent]:
    try:
        (pathlib.Path(folder) / "wb_hostile_was_here.py").write_text("raise SystemExit")
    except OSError:
        continue
    raise RuntimeError(f"may write to {folder}")


# ==== py_opens_socket
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


# ==== py_unix_path
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


# ==== py_shuts_folder
"""Leaves folders in its own that cannot be opened, then does its work."""

import os

from hostile import honest


def attend(q, k, v, **options):
    os.makedirs("shut/inner", exist_ok=True)
    with open("shut/inner/file", "w") as file:
        file.write("left")
    for folder in ("shut/inner", "shut", "."):
        try:
            os.chmod(folder, 0)
        except OSError:
            break
    honest(q, k, v, **options)
