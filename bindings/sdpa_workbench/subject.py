# SPDX-License-Identifier: MIT
"""The loop of a Python subject: imports one attention function and calls it for its supervisor.

Started by sdpa-wb-worker as `python -I -B -u subject.py` with one socket as descriptor 3; needs the
standard library only. The messages are those of compiled subjects
(docs/contracts/worker_protocol.md, "Between supervisor and subject"), but the input tensors come
ready-made as memory files; on a GPU subject_gpu.py makes them.

The function is called as f(q, k, v, *, causal, scale, mask, out, lse) with tensors indexed
[batch, head, row, width] whatever their memory layout. Their type follows what the function's
module imports: torch tensors if torch is loaded, else NumPy arrays if NumPy is (bf16 as uint16),
else memoryviews in memory order (16-bit formats as "H"). It writes `out` and returns None, or
returns the result. On a CPU `out` is memory of the supervisor, who reads it, or the result where
it lies, while this process is stopped. If it cannot give a log-sum-exp it raises
NotImplementedError when lse is not None; raised again without one, the problem counts as not
supported.
"""

import ctypes
import gc
import importlib
import importlib.util
import json
import mmap
import os
import platform
import random
import signal
import socket
import sys
import time
import traceback
from itertools import repeat

SOCKET_FD = 3
MAX_MESSAGE_BYTES = 64 << 10
MAX_FDS = 8
MAX_TRACEBACK_CHARS = 12_000
SETTLED_FRAC = 0.005  # largest relative difference of two successive blocks
# Settling ends after this multiple of the wanted time, or this much more if that is less.
SETTLE_MAX_FACTOR, SETTLE_MOST_EXTRA_US = 10, 500_000
SETTLE_LONGEST_BLOCK_US = 100_000
SWEEP_BYTES = 64 << 20
EARLIER_CALLS_NS = 80_000_000  # then the judged call comes, however late it was to be
MAP_POPULATE = getattr(mmap, "MAP_POPULATE", 0)  # its pages at once, not one fault after another


def beside(name):
    """The module NAME.py that lies beside this file, which -I keeps out of sys.path."""
    place = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"sdpa_wb_{name}", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


subject_tensors = beside("subject_tensors")


class CacheFlusher:
    """Takes memory out of all caches. Python has no such call, so x86-64 gets five instructions of
    machine code; elsewhere, or where such memory is refused, a 64 MiB sweep that is flagged."""

    # rdi: address, rsi: lines of 64 bytes.
    CODE = bytes.fromhex(
        "0fae3f"  # again: clflush [rdi]
        "4883c740"  # add rdi, 64
        "48ffce"  # dec rsi
        "75f4"  # jnz again
        "0faef0"  # mfence
        "c3"  # ret
    )

    def __init__(self):
        self.flush_lines = None
        self.sweep = None
        if platform.machine() in ("x86_64", "AMD64"):
            try:
                protection = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
                self.page = mmap.mmap(-1, mmap.PAGESIZE, prot=protection)
                self.page.write(self.CODE)
                entry = ctypes.addressof(ctypes.c_char.from_buffer(self.page))
                self.flush_lines = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)(entry)
            except OSError:
                self.flush_lines = None

    def flush(self, regions):
        if self.flush_lines is None:
            self.sweep = bytes(self.sweep or bytearray(SWEEP_BYTES))
            return
        for address, size in regions:
            first = address & ~63
            if size:
                self.flush_lines(first, (address + size - first + 63) // 64)


class Stage:
    """The tensors of one problem and placement, kept between turns."""

    def __init__(self, tensors, problem, key, values):
        self.tensors, self.problem, self.key, self.values = tensors, problem, key, values

    def regions(self):
        return [self.tensors.address(value) for value in self.values.values()]


class Subject:
    shows_unasked = True  # the result of a block, right after it
    outputs_in_place = True  # out and lse are the supervisor's memory themselves

    def __init__(self, channel):
        self.channel = channel
        self.function = None
        self.tensors = None
        self.stage = None
        self.shared = {}
        self.result = None
        self.flusher = None

    # Messages; each returns the fields of its answer.

    def ping(self, _message, _fds):
        return {}

    def load(self, message, _fds):
        if "builtin" in message:
            self.function = lambda q, k, v, *, causal, scale, mask, out, lse: None
        else:
            sys.path.insert(0, message["folder"])
            module_name, _, function_name = message["entry"].partition(":")
            self.function = getattr(importlib.import_module(module_name), function_name)
        if "torch" in sys.modules:
            self.tensors = subject_tensors.TorchTensors()
            self.tensors.torch.set_num_threads(message["threads"])
        else:
            has_numpy = "numpy" in sys.modules
            self.tensors = (
                subject_tensors.NumpyTensors() if has_numpy else subject_tensors.PlainTensors()
            )
        return {"versions": self.versions()}

    def run(self, message, fds):
        problem = subject_tensors.Problem(message["problem"])
        want_lse = len(fds) > len(self.handed_inputs(problem)) + 1
        shared = self.map(problem, ["out", *(["lse"] if want_lse else [])], fds)
        values = self.values_of(problem, message, shared)
        form = message.get("form", {})
        for name in [*problem.inputs, "out"]:
            if name in form:
                values[name] = self.tensors.placed(problem, name, values[name], *form[name])
        with self.tensors.at_most_threads(form.get("threads", 0)):
            self.call_before(problem, values, form)
            begin = time.perf_counter_ns()
            try:
                result = self.call(problem, values)()
                self.finish()
            except NotImplementedError:
                if not want_lse:
                    raise
                want_lse = False  # it gives no log-sum-exp; it may still give the output
                values.pop("lse")
                begin = time.perf_counter_ns()
                result = self.call(problem, values)()
                self.finish()
            call_us = (time.perf_counter_ns() - begin) / 1e3
        self.check_result(result)
        self.tensors.copy(shared["out"], values["out"] if result is None else result)
        if want_lse:
            self.tensors.copy(shared["lse"], values["lse"])
        return {"call_us": call_us, "lse": want_lse}

    def turn(self, message, fds):
        problem = subject_tensors.Problem(message["problem"])
        outputs = [name for name in ("out", "lse") if f"{name}_offset" in message]
        shared = self.map(problem, outputs, fds, message)
        for fd in fds:
            os.close(fd)
        fds.clear()
        self.shared = {name: shared[name] for name in problem.inputs}
        self.tells_results = message["tells_results"]
        key = (json.dumps(message["problem"], sort_keys=True), message["placement"])
        begin = time.perf_counter_ns()
        if self.stage is None or self.stage.key != key:
            values = self.values_of(problem, message, shared)
            self.stage = Stage(self.tensors, problem, key, values)
        else:
            self.stage.values |= {name: shared[name] for name in outputs}
            self.refill(message)
        refill_us = (time.perf_counter_ns() - begin) / 1e3
        self.flusher = self.flusher or CacheFlusher()
        call_us, settled = 0.0, True
        if message["settle_us"] > 0:
            self.first_call()  # just-in-time compilation is no part of any turn
            call = self.call(problem, self.stage.values)
            call_us, settled = settle(lambda us: time_calls(call, us), message["settle_us"])
        return {
            "call_us": call_us,
            "settled": settled,
            "refill_us": refill_us,
            "flushes": self.flusher.flush_lines is not None,
        }

    def prime(self, message, _fds):
        if "seed" in message:
            self.refill(message)
        if message["warm"]:
            self.result = self.call(self.stage.problem, self.stage.values)()
        self.poison(message["poison"])
        if "lse" in self.stage.values:
            self.poison(message["lse_poison"], "lse")
        if message["flush"]:
            self.flusher.flush(self.stage.regions())
        return {}

    def go(self, message, _fds):
        call = self.call(self.stage.problem, self.stage.values)
        gc.disable()  # as timeit does: a collection is not the candidate's work
        try:
            begin = time.perf_counter_ns()
            self.sample_ns, self.result = take_samples(call, message["samples"], message["calls"])
            block_ns = time.perf_counter_ns() - begin
        except NotImplementedError:
            if not self.drop_lse():
                raise
            return self.go(message, _fds)
        finally:
            gc.enable()
        # Short: the supervisor's clock still runs.
        return {"block_ns": block_ns, "lse": "lse" in self.stage.values, **self.place_of_result()}

    def drop_lse(self):
        """Drops lse and returns whether there was one: the subject may still give the output."""
        return self.stage.values.pop("lse", None) is not None

    def first_call(self):
        try:
            self.call(self.stage.problem, self.stage.values)()
        except NotImplementedError:
            if not self.drop_lse():
                raise
            self.call(self.stage.problem, self.stage.values)()

    def place_of_result(self):
        """The address of a result that is not in `out`. A result that the supervisor cannot follow
        or read is copied to `out` while its clock runs."""
        if self.result is None:
            return {}
        self.check_result(self.result)
        out = self.stage.values["out"]
        if self.tells_results and (place := self.tensors.place(self.result, out)) is not None:
            return {"result": place}
        self.tensors.copy(out, self.result)
        return {"copied": True}

    def copy(self, _message, _fds):
        """Copies the result, on a GPU whose judge lends no memory."""
        return {}

    def profile(self, _message, _fds):
        """What one call launches on a device; the call is neither judged nor timed."""
        return {"reason": "a call on the CPU launches no kernels on a device"}

    # What they share.

    def finish(self):
        """Waits until the called work is done; calls on a CPU are done when they return."""

    def handed_inputs(self, problem):
        """The inputs that come as memory files, before the outputs."""
        return problem.inputs

    def values_of(self, _problem, _message, shared):
        """The tensors of a call, by name; a call's own tensors are copies."""
        in_place = ("out", "lse") if self.outputs_in_place else ()
        return {
            name: tensor if name in in_place else self.tensors.private(tensor)
            for name, tensor in shared.items()
        }

    def refill(self, _message):
        for name in self.stage.problem.inputs:
            self.tensors.copy(self.stage.values[name], self.shared[name])

    def map(self, problem, outputs, fds, message=None):
        shared = {}
        for name, fd in zip([*self.handed_inputs(problem), *outputs], fds, strict=True):
            buffer = mmap.mmap(fd, 0, flags=mmap.MAP_SHARED | MAP_POPULATE)  # the whole file
            if message is not None and (offset := message.get(f"{name}_offset")) is not None:
                buffer = memoryview(buffer)[offset : offset + problem.size_bytes(name)]
            shared[name] = self.tensors.view(problem, name, buffer)
        return shared

    def call(self, problem, values):
        function, q, k, v, out = self.function, values["q"], values["k"], values["v"], values["out"]
        causal, scale = problem.causal, problem.scale
        mask, lse = values.get("mask"), values.get("lse")
        return lambda: function(q, k, v, causal=causal, scale=scale, mask=mask, out=out, lse=lse)

    def check_result(self, result):
        """Checks the result's type: a custom type could do its work when it is read, outside the
        clock."""
        if result is not None and type(result) is not self.tensors.kind:
            raise TypeError(
                f"it returned {type(result).__name__}, not exactly {self.tensors.kind.__name__}: "
                "a result that may compute itself later is not timed"
            )

    def call_before(self, problem, values, form):
        """The calls of a drawn run before the one that is judged: one of another shape, and earlier
        ones of this shape on other inputs."""
        tensors, call = self.tensors, form.get("call", 1)
        if "beside" in form and problem.shapes["q"][2] > 1 and hasattr(tensors, "fewer_rows"):
            fewer = {name: tensors.fewer_rows(name, value) for name, value in values.items()}
            self.call_or_lack_lse(problem, fewer)
        if call == 1:
            return
        earlier = values | {name: tensors.duplicate(values[name]) for name in ("q", "out")}
        tensors.turn_around(earlier["q"])
        end = time.perf_counter_ns() + EARLIER_CALLS_NS
        while call > 1 and time.perf_counter_ns() < end:
            self.call_or_lack_lse(problem, earlier)
            call -= 1
        self.finish()

    def call_or_lack_lse(self, problem, values):
        try:
            self.call(problem, values)()
        except NotImplementedError:
            if "lse" not in values:
                raise
            values.pop("lse")
            self.call(problem, values)()

    def poison(self, seed, name="out"):
        """Poisons the outputs, so that an earlier call's result cannot pass for this one's."""
        address, size = self.tensors.address(self.stage.values[name])
        tile = random.Random(seed).randbytes(min(size, 64 << 10))
        for offset in range(0, size, len(tile) or 1):
            ctypes.memmove(address + offset, tile, min(len(tile), size - offset))
        self.result = None

    def show(self):
        """Work due after the clock stops: on a CPU nothing, because its supervisor has already
        read."""

    @staticmethod
    def versions():
        versions = {"python": platform.python_version()}
        for name in ("torch", "numpy", "triton", "jax", "flash_attn", "xformers"):
            version = getattr(sys.modules.get(name), "__version__", None)
            if version is not None:
                versions[name] = str(version)
        return versions

    def serve(self):
        while True:
            packet, fds, flags, _ = socket.recv_fds(self.channel, MAX_MESSAGE_BYTES, MAX_FDS)
            if not packet or flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
                return
            message = json.loads(packet)
            if message["op"] == "bye":
                return
            answer = self.answer(message, fds)
            self.reply(message, answer)
            if message.get("stop"):
                # The supervisor's clock runs until this process is stopped, so no work is left
                # for later.
                signal.raise_signal(signal.SIGSTOP)
            # What the judge copies by itself it copies first, and then asks.
            if message["op"] == "go" and answer["ok"] and self.shows_unasked:
                self.reply(message, self.answer({"op": "show"}, []))

    def answer(self, message, fds):
        """Answers a message; every exception of the candidate becomes an answer, whatever its
        base."""
        try:
            if message["op"] == "show":
                self.show()
                return {"ok": True, "sample_ns": self.sample_ns}
            handler = {
                "ping": self.ping,
                "load": self.load,
                "run": self.run,
                "turn": self.turn,
                "prime": self.prime,
                "go": self.go,
                "profile": self.profile,
                "copy": self.copy,
            }[message["op"]]
            return {"ok": True, **handler(message, fds)}
        except SystemExit:
            raise
        except BaseException as fault:
            return failure(message["op"], fault)
        finally:
            for fd in fds:
                os.close(fd)  # a mapping keeps its own hold on the file

    def reply(self, message, answer):
        text = json.dumps({"n": message["n"], **answer})
        self.channel.send(text.encode("utf-8", "replace"))


def failure(op, fault):
    words = " ".join(f"{type(fault).__name__}: {fault}".split())[:400]
    if isinstance(fault, MemoryError):
        words = f"ran out of memory ({words})"
    return {
        "ok": False,
        "invalidity": "constraints" if isinstance(fault, NotImplementedError) else "runtime",
        "message": f"the Python subject failed at {op}: {words}",
        "untrusted_output": traceback.format_exc()[-MAX_TRACEBACK_CHARS:],
    }


def time_calls(call, block_us):
    """Calls for at least the given time; the mean time of one in us."""
    begin = time.perf_counter_ns()
    calls, spent_us = 0, 0.0
    while calls == 0 or spent_us < block_us:
        call()
        calls += 1
        spent_us = (time.perf_counter_ns() - begin) / 1e3
    return spent_us / calls


def settle(block, settle_us):
    """block(us) calls for at least so long and gives the mean time of a call. Blocks of a quarter
    of settle_us, at most 100 ms, until settle_us has gone by and two agree; (us, settled)."""
    block_us = min(settle_us / 4, SETTLE_LONGEST_BLOCK_US)
    most_us = min(SETTLE_MAX_FACTOR * settle_us, settle_us + SETTLE_MOST_EXTRA_US)
    begin = time.perf_counter_ns()
    before_us, blocks = 0.0, 0
    while True:
        call_us = block(block_us)
        blocks += 1
        spent_us = (time.perf_counter_ns() - begin) / 1e3
        settled = blocks >= 2 and abs(call_us - before_us) <= SETTLED_FRAC * call_us
        if settled and spent_us >= settle_us:
            return call_us, True
        if blocks >= 2 and spent_us >= most_us:
            return call_us, settled
        before_us = call_us


def take_samples(call, samples, calls):
    """Back to back: the end of one sample is the start of the next. (ns per sample, last result)"""
    clock, result, sample_ns = time.perf_counter_ns, None, []
    begin = clock()
    for _ in repeat(None, samples):
        for _ in repeat(None, calls):
            result = call()
        end = clock()
        sample_ns.append(end - begin)
        begin = end
    return sample_ns, result


def main():
    # Modules beside it import this script, which has no name, by one that no candidate takes.
    sys.modules["sdpa_wb_subject"] = sys.modules[__name__]
    gpu = next((word[6:] for word in sys.argv[1:] if word.startswith("--gpu=")), None)
    with socket.socket(fileno=SOCKET_FD) as channel:
        if gpu is None:
            Subject(channel).serve()
        else:
            beside("subject_gpu").GpuSubject(channel, int(gpu)).serve()


if __name__ == "__main__":
    main()
