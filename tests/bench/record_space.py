"""Measures a CPU kernel's whole search space through sdpa-wb-worker and writes a recording.

Every configuration is built, judged (the worker's whole verdict) and timed in rounds over all of
them, forward and back, so that two configurations can be compared inside a round. The format is
docs/guide/simulation.md. Usage:

  record_space.py WORKER KERNEL_FOLDER OUT.json --problem '{"B":1,"Hq":2,…}' [--instances 3] …
"""

import argparse
import base64
import datetime
import hashlib
import itertools
import json
import re
import statistics
import subprocess
import time
from pathlib import Path

BUILD_ID = "recording"  # the same for all, so that equal code is an equal artifact
ATTEMPTS = 12


class WorkerRefused(Exception):
    def __init__(self, error):
        super().__init__(error["message"])
        self.invalidity = error["invalidity"]


class Worker:
    def __init__(self, program):
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.count = 0

    def ask(self, verb, **args):
        self.count += 1
        line = json.dumps({"v": 1, "id": self.count, "verb": verb, "args": args})
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"the worker ended during {verb}")
        reply = json.loads(answer)
        if not reply["ok"]:
            raise WorkerRefused(reply["error"])
        return reply["result"]

    def put(self, content):
        name = hashlib.sha256(content).hexdigest()
        self.ask(
            "put", sha256=name, offset=0, total_bytes=len(content),
            data_base64=base64.b64encode(content).decode(),
        )  # fmt: skip
        return name


def closure(folder):
    """Files of the kernel and of common/, as paths below the kernels root."""
    for root in (folder, folder.parent / "common"):
        for path in sorted(root.rglob("*.h*")) + sorted(root.rglob("*.cpp")):
            yield str(path.relative_to(folder.parent)), path.read_bytes()
    yield f"{folder.name}/kernel.json", (folder / "kernel.json").read_bytes()


def configurations(manifest):
    """All points of the space. Restrictions over parameters only, as Python reads them."""
    names = sorted(manifest["tune_params"])
    rules = [
        re.sub(r"!(?!=)", " not ", rule.replace("&&", " and ").replace("||", " or "))
        for rule in manifest.get("restrictions", [])
    ]
    for values in itertools.product(*(sorted(manifest["tune_params"][n]) for n in names)):
        point = dict(zip(names, values, strict=True))
        if all(eval(rule, {}, dict(point)) for rule in rules):
            yield point


def build_and_judge(worker, manifest, files, problem, point):
    """The point's record so far; without turns when it failed."""
    record = {"configuration": point, "build_s": 0.0}
    started = time.monotonic()
    try:
        built = worker.ask(
            "build", variant_name=manifest["name"], build_id=BUILD_ID, target="native",
            files=files, configuration=point, deadline_ms=120000,
        )  # fmt: skip
        record["build_s"] = round(built["record"]["wall_s"], 3)
        record["artifact"] = built["artifact_sha256"]
        handle = load(worker, record)
        verdict = worker.ask("verdict", handle=handle, problem=problem, want_lse=True)
        worker.ask("unload", handle=handle)
        if not verdict["pass"]:
            raise WorkerRefused({"message": "a wrong output", "invalidity": "correctness"})
    except WorkerRefused as error:
        record.setdefault("build_s", round(time.monotonic() - started, 3))
        record.update(invalidity=error.invalidity, message=str(error))
    else:
        record.update(turn_s=[], turns=[])
    return record


def load(worker, record):
    return worker.ask(
        "load", subject="point", backend="cpu", artifact_sha256=record["artifact"],
        build_id=BUILD_ID, entry="", files=[],
    )["handle"]  # fmt: skip


def take_turn(worker, handles, index, record, problem, plan):
    """A turn beside foreign load is taken again; the last try stands, with its flag."""
    for attempt in range(ATTEMPTS):
        started = time.monotonic()
        try:
            turn = worker.ask(
                "turn", handle=handles[index], problem=problem, plan=plan, placement=0,
                spot_check=True,
            )  # fmt: skip
        except WorkerRefused as error:
            print(f"a turn of {record['configuration']} was lost: {error}", flush=True)
            handles[index] = load(worker, record)
            if attempt + 1 == ATTEMPTS:
                raise
            continue
        spent = time.monotonic() - started
        if not turn.get("spot", {"pass": True})["pass"]:
            raise SystemExit("a timed output was wrong")
        if "foreign_load" not in turn["flags"]:
            break
        time.sleep(0.02 * (attempt + 1))
    return turn, spent


def measure(worker, records, args, plan):
    valid = [record for record in records if "turns" in record]
    for instance in range(args.instances):
        handles = [load(worker, record) for record in valid]
        for number in range(args.rounds):
            forward = list(range(len(valid)))
            order = forward + forward[::-1] if number % 2 == 0 else forward[::-1] + forward
            for index in order:
                turn, spent = take_turn(worker, handles, index, valid[index], args.problem, plan)
                kept = {
                    "instance": instance,
                    "round": number,
                    "samples_us": [float(f"{us:.5g}") for us in turn["samples_us"]],
                }
                if "foreign_load" in turn["flags"]:
                    kept["flags"] = ["foreign_load"]
                valid[index]["turns"].append(kept)
                valid[index]["turn_s"].append(spent)
            print(f"instance {instance} round {number} done", flush=True)
        for handle in handles:
            worker.ask("unload", handle=handle)
    for record in valid:
        record["turn_s"] = round(statistics.median(record["turn_s"]), 4)


def write(path, head, records):
    """One line a point."""
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    points = ",\n".join(f"  {json.dumps(record)}" for record in records)
    lines.append(f' "points": [\n{points}\n ]')
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("worker")
    parser.add_argument("kernel", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--problem", type=json.loads, required=True)
    parser.add_argument("--problem-text", required=True)
    parser.add_argument("--instances", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    manifest = json.loads((args.kernel / "kernel.json").read_text())
    plan = {
        "kind": "hot", "regime": "burst", "settle_us": 5000, "timed_us": 10000,
        "min_samples": 3, "max_samples": args.samples,
    }  # fmt: skip
    worker = Worker(args.worker)
    hello = worker.ask("hello", version=1, python="", cpu_set="", threads=args.threads)
    files = [
        {"path": path, "sha256": worker.put(content)} for path, content in closure(args.kernel)
    ]
    records = []
    for point in configurations(manifest):
        records.append(build_and_judge(worker, manifest, files, args.problem, point))
        print(point, records[-1].get("invalidity", "passed"), flush=True)
    measure(worker, records, args, plan)
    worker.ask("bye")
    device = hello["device"]
    head = {
        "format": "sdpa-wb recording",
        "v": 1,
        "about": f"{manifest['name']}, every configuration: {args.instances} processes x "
        f"{args.rounds} rounds x 2 turns of at least 10 ms, at most {args.samples} samples kept "
        f"of a turn; a low-resolution recording on {device['name']}, threads {hello['threads']}, "
        "a machine that was not idle; good for trying strategies, not for quoting times",
        "recorded": datetime.date.today().isoformat(),
        "variant": manifest["name"],
        "problem": args.problem_text,
        "plan": "hot",
        "tune_params": manifest["tune_params"],
        "restrictions": manifest.get("restrictions", []),
    }
    write(args.out, head, records)


if __name__ == "__main__":
    main()
