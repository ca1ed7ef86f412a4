# SPDX-License-Identifier: MIT
"""A Python subject on a GPU that is played on a CPU, for its tests: torch.cuda is FakeCuda, whose
graphs run their calls again into the tensors that the first run returned, as real ones do."""

import base64
import contextlib
import ctypes
import importlib.util
import json
import mmap
import os
import pathlib
import socket
import struct
import sys
import time
import types

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "bindings" / "sdpa_workbench"
PROBLEM = {"B": 1, "Hq": 2, "Hkv": 2, "Sq": 3, "Skv": 4, "D": 8, "dtype": "f32", "causal": "none"}
SIZES = {"q": 48, "k": 64, "v": 64, "out": 48, "lse": 6}  # elements
SHAPES = {"out": (1, 2, 3, 8), "lse": (1, 2, 3)}
INPUTS = ("q", "k", "v")
NO_ADDRESS, NO_SEED = bytes(8), bytes(4)
STREAM = 7


class FakeEvent:
    def __init__(self, enable_timing):
        assert enable_timing
        self.at = None

    def record(self):
        self.at = time.perf_counter()

    def query(self):
        return self.at is not None

    def synchronize(self):
        assert self.at is not None

    def elapsed_time(self, later):
        return 1e3 * (later.at - self.at)


class FakeGraph:
    def __init__(self):
        self.calls = []  # (call, what it returned first)
        self.replays = 0

    def capture_begin(self, *, capture_error_mode):
        """Records copies, which is all that a subject itself captures."""
        assert capture_error_mode == "thread_local"
        copy = torch.Tensor.copy_

        def record(to, source):
            self.calls.append((lambda: copy(to, source), None))

        torch.Tensor.copy_ = record

    def capture_end(self):
        del torch.Tensor.copy_

    def replay(self):
        self.replays += 1
        for call, first in self.calls:
            again = call()
            if first is not None:
                first.copy_(again)


class FakeDriver:
    """Its one kernel writes what the test drew for the input that the parameter names."""

    def __init__(self, driven):
        self.driven = driven
        self.code = None

    def cuCtxResetPersistingL2Cache(self):
        self.driven.persisting_resets += 1

    def cuModuleLoadData(self, _module, image):
        self.code = image
        return 0

    def cuModuleGetFunction(self, function, _module, name):
        assert (self.code, name) == (b"device code", b"makes_inputs")
        function._obj.value = 42
        return 0

    # Memory of another process: a memory file, mapped where the "device" has its addresses.

    def cuMemImportFromShareableHandle(self, handle, fd, kind):
        assert kind == 1
        handle._obj.value = os.dup(fd.value)
        return self.driven.import_answer

    def cuMemAddressReserve(self, address, size, _alignment, _wish, _flags):
        self.driven.mapped += 1
        address._obj.value = self.driven.mapped
        return 0

    def cuMemMap(self, address, size, _offset, handle, _flags):
        memory = mmap.mmap(handle.value, size.value)
        self.driven.maps[handle.value] = memory
        address.value = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        return 0

    def cuMemSetAccess(self, _address, _size, access, count):
        assert (access._obj.location.type, access._obj.flags, count.value) == (1, 3, 1)
        return 0

    def cuMemUnmap(self, _address, _size):
        self.driven.unmapped += 1
        return 0

    def cuMemAddressFree(self, _address, _size):
        return 0

    def cuMemRelease(self, handle):
        os.close(handle.value)
        return 0

    def cuLaunchKernel(self, function, *words):
        *shape, memory_bytes, stream, pointers, extra = words
        assert (function.value, shape, memory_bytes, extra) == (42, [3, 1, 1, 32, 1, 1], 0, None)
        assert stream.value == STREAM
        address, name = struct.unpack("=Qc", ctypes.string_at(pointers[0], 9))
        seed = int.from_bytes(ctypes.string_at(pointers[0] + 9, 4), sys.byteorder)
        self.driven.seeds.append((name.decode(), seed))
        values = self.driven.values[name.decode()]
        ctypes.memmove(address, values.data_ptr(), 4 * values.numel())
        return self.driven.launch_answer


class FakeCuda(types.SimpleNamespace):
    def __init__(self):
        super().__init__(CUDAGraph=FakeGraph, Event=FakeEvent, recording=None, slept=0)
        self.Stream = lambda: types.SimpleNamespace(cuda_stream=STREAM)

    def is_available(self):
        return False  # a CUDA build of PyTorch asks before it looks at cuDNN

    def set_device(self, _device):
        pass

    set_stream = synchronize = set_device

    def _sleep(self, _cycles):
        self.slept += 1

    def get_device_properties(self, _device):
        return types.SimpleNamespace(L2_cache_size=1024)

    @contextlib.contextmanager
    def graph(self, graph, *, stream, capture_error_mode):
        assert stream is not None
        assert capture_error_mode == "thread_local"
        self.recording = graph
        yield
        self.recording = None


def load_module(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Driven:
    """A subject and the supervisor's end of its messages."""

    def __init__(self, monkeypatch, tmp_path, function):
        self.cuda = FakeCuda()
        monkeypatch.setattr(torch, "cuda", self.cuda)
        monkeypatch.setattr(torch.Tensor, "is_cuda", True)
        loop = load_module("subject")
        monkeypatch.setitem(sys.modules, "sdpa_wb_subject", loop)
        gpu = load_module("subject_gpu")
        monkeypatch.setattr(gpu.ctypes, "CDLL", self.driver)
        self.persisting_resets = self.launch_answer = self.import_answer = 0
        self.maps, self.mapped, self.unmapped = {}, 0, 0
        self.seeds = []  # of launches: the input's name, and what stands behind it
        self.here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.here.settimeout(10)
        self.subject = gpu.GpuSubject(there, 0)
        self.subject.device = torch.device("cpu")
        (tmp_path / "fake_kernel.py").write_text("import torch\n\nsdpa = None\n")
        code = os.memfd_create("code")
        os.write(code, b"device code")
        load = {"folder": str(tmp_path), "entry": "fake_kernel:sdpa", "threads": 1}
        self.subject.ping({}, [])
        self.subject.load({**load, "fill_kernel": "makes_inputs"}, [code])
        self.subject.tensors.private = lambda shared: shared.clone()
        self.subject.function = function
        self.subject.call = self.call
        self.out = os.memfd_create("out")
        os.ftruncate(self.out, 4 * SIZES["out"])
        self.values = {}
        for name in INPUTS:
            self.draw(name)

    def driver(self, _name):
        return FakeDriver(self)

    def call(self, problem, values):
        """As Subject.call, and a graph that records keeps the call."""
        call = type(self.subject).call(self.subject, problem, values)

        def noted():
            result = call()
            if self.cuda.recording is not None:
                self.cuda.recording.calls.append((call, result))
            return result

        return noted

    def draw(self, name):
        """What the next launch for this input writes."""
        self.values[name] = torch.randn(SIZES[name])
        return self.values[name]

    def shown(self):
        raw = bytearray(os.pread(self.out, 4 * SIZES["out"], 0))
        return torch.frombuffer(raw, dtype=torch.float32)

    def fds(self):
        return [os.dup(self.out)]

    @staticmethod
    def fills():
        params = (NO_ADDRESS + name + NO_SEED for name in (b"q", b"k", b"v"))
        return [
            {"blocks": 3, "threads": 32, "params_base64": base64.b64encode(each)} for each in params
        ]

    def seeds_of(self, name):
        return [seed for input_name, seed in self.seeds if input_name == name]

    def turn(self, kind, placement=0):
        message = {"problem": PROBLEM, "placement": placement, "settle_us": 100, "kind": kind}
        return self.subject.turn({**message, "fills": self.fills()}, self.fds())

    OFFSET, LENT_BYTES = 4096, 65536

    def lend(self, number, names):
        """What a message says of memory of the judge's, and files that play it, by name."""

        def view(_problem, name, memory):
            size = 4 * SIZES[name]
            bytes_there = (ctypes.c_char * size).from_address(memory.address.value + memory.offset)
            return torch.frombuffer(bytes_there, dtype=torch.float32).view(SHAPES[name])

        self.subject.tensors.lent = view
        self.subject.tensors.private = lambda shared: shared
        files = {name: os.memfd_create(name) for name in names}
        for file in files.values():
            os.ftruncate(file, self.LENT_BYTES)
        part = {"bytes": self.LENT_BYTES, "offset": self.OFFSET}
        return {"number": number, **dict.fromkeys(names, part)}, files

    def lent_turn(self, kind, lent, files, placement=0):
        message = {"problem": PROBLEM, "placement": placement, "settle_us": 100, "kind": kind}
        fds = [os.dup(file) for file in files.values()]
        return self.subject.turn({**message, "lent": lent, "fills": self.fills()}, fds)

    def stands_in(self, file):
        raw = bytearray(os.pread(file, 4 * SIZES["out"], self.OFFSET))
        return torch.frombuffer(raw, dtype=torch.float32)

    def profile(self):
        return self.subject.profile({"problem": PROBLEM, "fills": self.fills()}, self.fds())

    def block(self, samples, calls, flush=False, **prime):
        """Prime, go and show, as the supervisor asks; what go told, and the samples."""
        prime = {"calls": calls, "warm": False, "poison": 7, "flush": flush, **prime}
        if "seed" in prime:
            prime["fills"] = self.fills()
        self.subject.prime(prime, [])
        answer = self.subject.go({"n": 5, "samples": samples, "calls": calls}, [])
        assert json.loads(self.here.recv(1024)) == {"n": 5, "ok": True}
        self.subject.show()
        return answer, self.subject.sample_ns


def returns_double(q, k, v, *, causal, scale, mask, out, lse):
    return 2 * q


def writes_double(q, k, v, *, causal, scale, mask, out, lse):
    out.copy_(2 * q)
