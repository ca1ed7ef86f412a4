# SPDX-License-Identifier: MIT
"""Forked children and second interpreters: what was called before a fork is called, replaced and
left after it, nothing hangs, no lock or pipe stays behind, and who cannot be served is told so."""

import importlib.util
import os
import signal
import subprocess
import sys

import pytest
from support.commands import importing
from support.logs import events

pytest.importorskip("numpy")

HEAD = """
import gc, os, signal, threading, warnings
import numpy as np
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12's, of forks beside threads
q = np.random.default_rng(1).standard_normal((1, 2, 64, 32)).astype(np.float32)
variant = wb.tensors.load("cpu_unfused", session="s", threads=2, workbench=bench)
expected = variant(q, q, q)

def child(work, leave=os._exit):
    # The child's exit status; one that hangs is ended by the alarm.
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        code = 99
        try:
            code = int(not work())
        except BaseException as fault:
            print(f"{work.__name__}: {type(fault).__name__}: {fault}", file=sys.stderr)
        leave(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def calls():
    return np.array_equal(variant(q, q, q), expected)

def lets_go():
    global variant
    variant = None
    gc.collect()
    return True
"""


def run(script, code, timeout=240):
    process = script(HEAD + code)
    out, err = process.communicate(timeout=timeout)
    assert process.returncode == 0, out + err
    return out, err


CHILDREN = """
def another_shape():
    p = np.ascontiguousarray(q[:, :, :40])
    return np.abs(variant(p, p, p) - variant(q, p, p)[:, :, :40]).max() < 2e-5

def loads_again():
    global variant
    variant = wb.tensors.load("cpu_unfused", session="s", threads=2, workbench=wb.Workbench())
    return calls()

def grandchild():
    return calls() and child(calls) == 0 and child(another_shape) == 0 and calls()

def closes():
    bench.close()
    return calls()

for work in (calls, another_shape, loads_again, lets_go, grandchild, closes, lambda: True):
    for leave in (os._exit, sys.exit):
        print(work.__name__, leave.__name__, child(work, leave))
assert calls() and another_shape()
"""


def test_a_child_calls_replaces_and_leaves_a_variant(small, script):
    out, _ = run(script, CHILDREN)
    assert len(out.splitlines()) == 14
    assert [line for line in out.splitlines() if not line.endswith(" 0")] == []


BESIDE = """
others = [np.ascontiguousarray(q[:, :, :rows]) for rows in range(1, 11)]
ends = threading.Event()
faults = []

def busy(work):
    try:
        while not ends.is_set():
            work()
    except BaseException as fault:
        faults.append(fault)

def many_shapes():
    for p in others:
        variant(p, p, p)

works = [lambda: variant(q, q, q), many_shapes, lambda: bench.kernels()]
threads = [threading.Thread(target=busy, args=(work,)) for work in works]
for thread in threads:
    thread.start()
codes = [child(work, leave) for work in (calls, lets_go) for leave in (os._exit, sys.exit)
         for _ in range(4)]
ends.set()
for thread in threads:
    thread.join()
print(codes, faults)
"""


def test_forks_beside_calls_of_other_threads(small, script):
    """A lock that another thread held at the fork is never released in the child."""
    out, _ = run(script, BESIDE)
    assert out.strip() == f"{[0] * 16} []"


IN_A_THREAD = """
def forks():
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        if not calls():
            os._exit(3)
        return  # the process ends with the last of its threads
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

thread = threading.Thread(target=forks)
thread.start()
thread.join()
"""


def test_a_child_that_a_thread_forked_ends_with_it(small, script):
    out, _ = run(script, IN_A_THREAD)
    assert out.split() == ["0"]


POOLS = """
import multiprocessing

def rows(count):
    p = np.ascontiguousarray(q[:, :, :count])
    return float(np.abs(variant(p, p, p) - variant(q, p, p)[:, :, :count]).max())

with multiprocessing.get_context("fork").Pool(2) as pool:
    print(max(pool.map(rows, [64, 3, 64, 17, 64])) < 2e-5)
worker = multiprocessing.get_context("fork").Process(target=calls)
worker.start()
worker.join()
print(worker.exitcode)
"""


def test_pools_of_forked_processes(small, script):
    out, _ = run(script, POOLS)
    assert out.split() == ["True", "0"]


FALLBACK = """
dispatch = wb.tensors.Dispatch(workbench=bench)
p = np.tile(q, (1, 4, 4, 1))  # large enough for PyTorch's own threads

def falls_back():
    out = wb.tensors.sdpa(p, p, p, dispatch=dispatch)
    return dispatch.last.is_fallback and np.abs(out[:, :2, :64] - expected).max() < 2e-5

assert falls_back()
print(child(falls_back), child(falls_back, sys.exit))
p = np.ascontiguousarray(p[:, :, :192])
print(child(falls_back))
"""
LOADER = """
import torch

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, at):
        t = torch.from_numpy(q[:, :, : at + 1])
        return (variant(t, t, t) - variant(torch.from_numpy(q), t, t)[:, :, : at + 1]).abs().max()

print(int(not max(torch.utils.data.DataLoader(Data(), num_workers=2, timeout=60)).item() < 2e-5))
"""


def test_the_fallback_and_a_data_loader(small, script):
    """The fallback is PyTorch's where it is installed, whose threads do not come along either."""
    with_torch = importlib.util.find_spec("torch") is not None
    out, _ = run(script, FALLBACK + (LOADER if with_torch else ""))
    assert out.split() == ["0"] * (4 if with_torch else 3)


CALLBACK = """
s = wb.Session("s", workbench=bench)
children = {}

def forks(progress):
    if len(children) == 3:
        return
    name = ("returns", "raises", "exits")[len(children)]
    pid = os.fork()
    children[name] = pid
    if pid:
        return
    signal.alarm(60)
    s.progress = None
    if name == "raises":
        raise ZeroDivisionError("of the child")
    if name == "exits":
        sys.exit(7)

parent = os.getpid()
s.progress = forks
try:
    s.iterate(variant="cpu_online", hypothesis="h", predicted_speedup=1.1)
except wb.errors.UsageError as fault:
    assert "forked from" in str(fault) and os.getpid() != parent
    sys.exit(5)
except ZeroDivisionError:
    assert os.getpid() != parent
    sys.exit(6)
print({name: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for name, pid in children.items()})
"""


def test_a_fork_in_a_progress_callback(small, script):
    """The child is told that the engine is not its own, or gets its own exception; the parent goes
    on."""
    out, _ = run(script, CALLBACK)
    assert out.strip() == "{'returns': 5, 'raises': 6, 'exits': 7}"
    assert [e["type"] for e in events(small.folder)].count("iteration_closed") == 2


ORPHAN = """
s = wb.Session("s", workbench=bench)
s.iterate(variant="cpu_online", hypothesis="h", predicted_speedup=1.1)  # there is a worker now
if os.fork() == 0:
    signal.alarm(120)
    with os.scandir("/proc/self/fd") as found:
        held = [os.readlink(item.path) for item in found if int(item.name) > 2]
    print(*(name for name in held if not name.startswith("/proc/")), flush=True)
    sys.stdin.read()
    os._exit(0)
signal.pause()
"""


def test_a_child_holds_neither_lock_nor_pipes(small, script, package, bench):
    """Its parent is killed while the session is held: the next one takes the session at once."""
    process = script(HEAD + ORPHAN)
    assert process.stdout.readline() == "\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    with package.Session(small.folder, workbench=bench()) as session:
        session.note("taken over")
    texts = [event["payload"].get("text") for event in events(small.folder)]
    assert texts.count("taken over") == 1


SECOND = """
try:
    import _interpreters as interpreters  # from Python 3.13 on
    made = interpreters.create("legacy")
except ImportError:
    import _xxsubinterpreters as interpreters
    made = interpreters.create(isolated=False)

INSIDE = '''
import os
import sdpa_workbench as wb
for use in (lambda: wb.Workbench(), lambda: wb.tensors.load("k", session="s"), lambda: wb.check):
    try:
        use()
        said = "served"
    except ImportError as fault:
        said = str(fault)
    os.write(1, (said + chr(10)).encode())
'''

def there():
    interpreters.run_string(made, INSIDE)

def here():
    import sdpa_workbench as wb
    with wb.Workbench() as bench:
        print(len(bench.kernels()["kernels"]) > 0, flush=True)
"""


@pytest.mark.parametrize("order", ["here(); there(); here()", "there(); here(); there(); here()"])
def test_a_second_interpreter_is_refused_by_name(order, package, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SECOND + order], capture_output=True, text=True, cwd=tmp_path,
        env=os.environ | importing(package), timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    lines = done.stdout.splitlines()
    assert lines.count("True") == order.split("; ").count("here()")
    refused = [line for line in lines if line != "True"]
    assert len(refused) == 3 * order.count("there()")
    for line in refused:
        assert "serves the main interpreter of a process" in line
        assert "pip install" not in line
