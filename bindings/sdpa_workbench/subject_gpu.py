# SPDX-License-Identifier: MIT
"""A Python subject on a GPU: as subject.py, with torch tensors there and the device's clock.

Samples are taken as worker/cuda/stopwatch.hpp takes those of compiled subjects (see
docs/contracts/measurement.md): hot ones are replays of one CUDA graph, cold ones single calls after
the caches were emptied, eager ones calls that are queued while the device runs. Where compiled
subjects have a gate, a delay on the stream keeps the device waiting while the host queues the first
samples.
"""

import ctypes
import itertools
import math
import mmap
import statistics
import sys

import sdpa_wb_subject as loop

gpu_tensors = loop.beside("subject_gpu_tensors")

GRAPH_US = 200.0  # approximate duration of one launch of a settling graph
LEAST_CALL_US = 0.2  # bounds the graph of an empty call
MOST_GRAPH_CALLS = 1_000
MOST_GRAPHS = 8
SETTLE_SAMPLES = 4_000
FIRST_CALLS = 3
EMPTY_PAIRS = 51
CALLS_BEFORE_PROFILE = 2  # first calls may compile, choose and cache
POISON_TILE_BYTES = 64 << 10
HELD_SAMPLES = 16  # queued while the delay holds the stream
HELD_CYCLES_FIRST = 240_000
# About 60 us a launch and 2 us a call in it: longer than queueing them takes.
HELD_CYCLES_EACH, HELD_CYCLES_CALL = 120_000, 4_000
HELD_CYCLES_LINK = 80_000  # launches of a chain


class GpuSubject(loop.Subject):
    outputs_in_place = False

    def __init__(self, channel, gpu):
        """Imports torch, before the candidate, and leaves the device alone: that may go on beside
        what is timed there."""
        super().__init__(channel)
        try:
            import torch
        except ImportError as fault:
            sys.exit(f"a Python subject on a GPU needs PyTorch in {sys.executable}: {fault}")
        self.torch = torch
        self.gpu, self.device = gpu, torch.device("cuda", gpu)
        self.stream = None
        self.lent = self.staged_lent = None  # memory of the judge's: of this message, of the stage
        self.snap = None  # where the output is copied to behind a block
        self.shows_unasked = True

    # Messages

    def ping(self, message, fds):
        """The supervisor asks for a context before any candidate's code is loaded."""
        if self.stream is None:
            self.take_device()
        return super().ping(message, fds)

    def load(self, message, fds):
        answer = super().load(message, fds)
        self.tensors = gpu_tensors.GpuTensors(self.device)
        with mmap.mmap(fds[0], 0, prot=mmap.PROT_READ) as code:
            self.fill_kernel = gpu_tensors.FillKernel(self.driver, code[:], message["fill_kernel"])
        return answer

    def run(self, message, fds):
        self.borrow(message, fds)
        try:
            answer = super().run(message, fds)
            self.finish()  # the judge copies these bytes after it gets the answer
        finally:
            self.give_back()
        return answer

    def turn(self, message, fds):
        problem = loop.subject_tensors.Problem(message["problem"])
        loan = message.get("lent", {}).get("number", 0)
        key = (loop.json.dumps(message["problem"], sort_keys=True), message["placement"], loan)
        is_kept = self.stage is not None and self.stage.key == key
        if not (is_kept and loan):
            self.borrow(message, fds)
            self.shared = self.map(problem, ["out"], fds)
        self.shows_unasked = not loan
        begin = loop.time.perf_counter_ns()
        if not is_kept:
            self.graphs = {}  # they hold calls with the old tensors
            self.links, self.links_out = [], None
            values = self.values_of(problem, message, self.shared)
            self.stage = loop.Stage(self.tensors, problem, key, values)
            self.snap = None
            if self.lent is not None:
                self.snap = self.tensors.lent(problem, "out", self.lent["snap"])
            # The old memory lived until the new one was there, so that the addresses differ.
            self.lent, self.staged_lent = self.staged_lent, self.lent
            self.give_back()
        else:
            self.refill(message)
        self.finish()
        refill_us = (loop.time.perf_counter_ns() - begin) / 1e3
        self.kind = message["kind"]
        call_us, settled = self.settle(message["settle_us"])
        return {
            "call_us": call_us,
            "settled": settled,
            "refill_us": refill_us,
            "flushes": True,
        }

    def prime(self, message, _fds):
        if self.kind != "eager":
            self.graph_of(message["calls"])  # before the inputs are fresh: it is launched once
        if "seed" in message:
            self.refill(message)
            self.finish()
        if message["warm"]:
            self.result = self.staged_call()()
        self.poison(message["poison"])
        self.finish()
        if message["flush"]:
            self.flush()
            self.finish()
        return {}

    def go(self, message, _fds):
        samples, calls = message["samples"], message["calls"]

        def started():
            self.reply(message, {"ok": True})  # the supervisor's clock runs too

        loop.gc.disable()  # a collection is not the candidate's work
        try:
            if "chain" in message:
                self.queue_chain(message["chain"], started)
            elif self.kind == "eager":
                self.queue_eager(calls, samples, started)
            else:
                graph, self.result = self.graph_of(calls)
                self.queue_graph(graph, samples, calls, started)
            self.finish()  # other streams too, while the supervisor's clock runs
        finally:
            loop.gc.enable()
        self.check_result(self.result)
        if self.snap is None:
            self.copy_out()
        # Short, as the supervisor's clock still runs; the samples are read in show().
        self.taken = (samples, calls)
        block_us = self.block_us(samples)
        if self.kind == "cold":
            block_us = max(block_us - self.empty_pair_us, 0.0)
        return {"block_ns": max(round(block_us * 1e3), 1)}

    def copy(self, _message, _fds):
        """Copies the result so that the supervisor learns how long that takes."""
        self.copy_out()
        return {}

    def show(self):
        samples, calls = self.taken
        times_us = self.call_times_us(calls, samples)
        if self.kind == "cold":
            times_us = [max(us - self.empty_pair_us, 0.0) for us in times_us]
        self.sample_ns = [max(round(us * calls * 1e3), 1) for us in times_us]

    def profile(self, message, fds):
        problem = loop.subject_tensors.Problem(message["problem"])
        values = self.values_of(problem, message, self.map(problem, ["out"], fds))
        call = self.call(problem, values)
        for _ in range(CALLS_BEFORE_PROFILE):
            call()
        self.finish()
        return loop.beside("subject_kernels").launches_of(self.torch, call, self.finish)

    # What they share

    def take_device(self):
        self.torch.cuda.set_device(self.device)
        self.stream = self.torch.cuda.Stream()
        self.torch.cuda.set_stream(self.stream)
        self.pool = []  # events
        self.graphs, self.kind = {}, "hot"
        self.links, self.links_out = [], None
        self.flush_memory = None
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.taken = (0, 1)
        pairs = []
        for _ in range(EMPTY_PAIRS):
            self.queue_graph(None, 1)
            self.finish()
            pairs += self.call_times_us(1, 1)
        self.empty_pair_us = statistics.median(pairs)

    def handed_inputs(self, _problem):
        return []

    def borrow(self, message, fds):
        """Maps the judge's memory if it lends some."""
        parts = message.get("lent")
        if parts is not None:
            names = [name for name in ("out", "lse", "snap") if name in parts]
            pairs = zip(names, fds, strict=True)
            self.lent = {
                name: gpu_tensors.LentMemory(self.driver, self.gpu, fd, parts[name])
                for name, fd in pairs
            }

    def give_back(self):
        if self.lent is not None:
            self.finish()  # nothing may still write to it
            for memory in self.lent.values():
                memory.close()
            self.lent = None

    def map(self, problem, outputs, fds):
        if self.lent is None:
            return super().map(problem, outputs, fds)
        return {name: self.tensors.lent(problem, name, self.lent[name]) for name in outputs}

    def copy_out(self):
        """Copies the output before "done", if the judge lends no memory."""
        result = self.stage.values["out"] if self.result is None else self.result
        self.tensors.copy(self.shared["out"], result)
        self.finish()

    def queue_snap(self):
        """The copy that the judge gets, behind the last event: what the stream has not done by then
        is missing in it. A result that was returned goes there, too, so no rival pays for that."""
        if self.snap is not None:
            self.check_result(self.result)
            result = self.stage.values["out"] if self.result is None else self.result
            self.tensors.copy(self.snap, result)

    def values_of(self, problem, message, shared):
        values = super().values_of(problem, message, shared)
        values |= {name: self.tensors.empty(problem, name) for name in problem.inputs}
        self.fill(problem, values, message)
        self.finish()  # what a call does on another stream must find them
        return values

    def refill(self, message):
        self.fill(self.stage.problem, self.stage.values, message)

    def fill(self, problem, values, message):
        for name, launch in zip(problem.inputs, message["fills"], strict=True):
            if launch is not None:
                self.fill_kernel.queue(launch, values[name], self.stream)

    def finish(self):
        self.torch.cuda.synchronize(self.device)

    def staged_call(self):
        return self.call(self.stage.problem, self.stage.values)

    def check_result(self, result):
        super().check_result(result)
        if result is not None and not result.is_cuda:
            raise TypeError("it returned a tensor that is not on the GPU")

    def poison(self, seed):
        tile = self.poison_tile(seed)
        results = [result for _graph, result in self.graphs.values() if result is not None]
        for tensor in (self.stage.values["out"], *results):
            self.tile(self.storage(tensor), tile)
        self.result = None

    def poison_tile(self, seed):
        tile = bytearray(loop.random.Random(seed).randbytes(POISON_TILE_BYTES))
        return self.torch.frombuffer(tile, dtype=self.torch.uint8).to(self.device)

    def storage(self, tensor):
        """The tensor's whole storage, as bytes."""
        flat = self.torch.empty(0, dtype=self.torch.uint8, device=self.device)
        return flat.set_(tensor.untyped_storage())

    @staticmethod
    def tile(flat, tile):
        size = min(flat.numel(), tile.numel())
        whole = flat.numel() // size * size
        flat[:whole].view(-1, size).copy_(tile[:size])
        flat[whole:].copy_(tile[: flat.numel() - whole])

    def graph_of(self, calls):
        """(graph, what its last call returned); launched once."""
        if calls not in self.graphs:
            if len(self.graphs) >= MOST_GRAPHS:
                self.graphs.clear()
            graph, call, result = self.torch.cuda.CUDAGraph(), self.staged_call(), None
            with self.torch.cuda.graph(
                graph, stream=self.stream, capture_error_mode="thread_local"
            ):
                for _ in range(calls):
                    result = call()
            graph.replay()
            self.finish()
            self.graphs[calls] = (graph, result)
        return self.graphs[calls]

    def settle(self, settle_us):
        call = self.staged_call()
        call()  # just-in-time compilation is no part of any turn
        self.finish()
        self.queue_eager(1, FIRST_CALLS)
        self.finish()
        first_us = statistics.median(self.call_times_us(1, FIRST_CALLS))
        first_us = max(first_us, LEAST_CALL_US)
        calls = min(math.ceil(GRAPH_US / first_us), MOST_GRAPH_CALLS)
        graph = None if self.kind == "eager" else self.graph_of(calls)[0]

        def block(block_us):
            samples = min(math.ceil(block_us / (calls * first_us)), SETTLE_SAMPLES)
            if graph is None:
                self.queue_eager(calls, samples)
            else:
                self.queue_graph(graph, samples, calls)
            self.finish()
            return statistics.median(self.call_times_us(calls, samples))

        return loop.settle(block, settle_us)

    # The stopwatch: events 0 to `samples`, one between any two samples

    def events(self, count):
        while len(self.pool) < count:
            self.pool.append(self.torch.cuda.Event(enable_timing=True))
        return self.pool[:count]

    def call_times_us(self, calls, samples):
        events = self.events(samples + 1)
        return [
            1e3 * first.elapsed_time(second) / calls for first, second in itertools.pairwise(events)
        ]

    def block_us(self, samples):
        events = self.events(samples + 1)
        return 1e3 * events[0].elapsed_time(events[samples])

    def queue_graph(self, graph, samples, calls=1, started=None):
        """Records events with nothing between them, without a graph."""
        events = self.events(samples + 1)
        held = min(samples, HELD_SAMPLES)
        each = HELD_CYCLES_EACH + calls * HELD_CYCLES_CALL
        self.torch.cuda._sleep(HELD_CYCLES_FIRST + held * each)
        events[0].record()
        for sample in range(samples):
            if sample == HELD_SAMPLES:
                self.begin(events[0], started)
            if graph is not None:
                graph.replay()
            events[sample + 1].record()
        if started is not None:
            self.queue_snap()
        if samples <= HELD_SAMPLES:
            self.begin(events[0], started)

    def queue_chain(self, chain, started):
        """As CudaSubject: before each call inputs of the next seed, and a poisoned output; each
        call is a replay of the graph that single calls have."""
        seeds = chain["seeds"]
        graph, self.result = self.graph_of(1)
        self.provide_links(len(seeds))
        for (_put, inputs), seed in zip(self.links, seeds, strict=False):
            for launch, tensor in zip(chain["fills"], inputs, strict=True):
                if launch is not None:
                    place = (chain["seed_offset"], seed)
                    self.fill_kernel.queue(launch, tensor, self.stream, place)
        self.tile(self.chain_poison, self.poison_tile(chain["poison"]))
        events = self.events(2)
        self.finish()
        self.torch.cuda._sleep(HELD_CYCLES_FIRST + len(seeds) * HELD_CYCLES_LINK)
        events[0].record()
        for put, _inputs in self.links[: len(seeds)]:
            put.replay()
            if chain["with_calls"]:
                graph.replay()
        events[1].record()
        self.queue_snap()
        self.begin(events[0], started)

    def provide_links(self, count):
        """Links of a chain: a graph that puts inputs, and a poison, where the call finds them, and
        the memory of these inputs."""
        problem, values = self.stage.problem, self.stage.values
        out = values["out"] if self.result is None else self.result
        if self.links_out is not out:
            self.links, self.links_out = [], out
            self.chain_poison = self.torch.empty_like(self.storage(out))
        flat = self.storage(out)
        while len(self.links) < count:
            inputs = [self.tensors.empty(problem, name) for name in problem.inputs]
            put = self.torch.cuda.CUDAGraph()
            put.capture_begin(capture_error_mode="thread_local")
            try:
                for name, tensor in zip(problem.inputs, inputs, strict=True):
                    values[name].copy_(tensor)
                flat.copy_(self.chain_poison)
            finally:
                put.capture_end()
            put.replay()  # the first is slower
            self.links.append((put, inputs))

    def queue_eager(self, calls, samples, started=None):
        events, call = self.events(samples + 1), self.staged_call()
        self.finish()
        if started is not None:
            started()
        events[0].record()
        for sample in range(samples):
            for _ in range(calls):
                self.result = call()
            events[sample + 1].record()
        if started is not None:
            self.queue_snap()

    @staticmethod
    def begin(event, started):
        """Tells the supervisor as soon as the device has passed the delay."""
        if started is None:
            return
        while not event.query():
            pass
        started()

    def flush(self):
        """As CacheFlush (worker/cuda/stopwatch.hpp): writes memory, reads other memory, resets
        persisting lines."""
        if self.flush_memory is None:
            l2_bytes = self.torch.cuda.get_device_properties(self.device).L2_cache_size
            self.flush_memory = self.torch.zeros(
                l2_bytes, dtype=self.torch.int32, device=self.device
            )
        self.driver.cuCtxResetPersistingL2Cache()
        half = self.flush_memory.numel() // 2
        self.flush_memory[:half].zero_()
        self.flush_memory[half:].sum()

    def versions(self):
        versions = super().versions()
        versions["cuda"] = str(self.torch.version.cuda)
        versions["cudnn"] = str(self.torch.backends.cudnn.version())
        return versions
