#!/usr/bin/env python3
"""What `make artifacts` does: the compiled code that dispatch rules name, as one archive.

artifacts.py SDPA_WB TABLE ARCHITECTURE OUTPUT: every rule of TABLE (kernels/dispatch.json) whose
artifact was made for ARCHITECTURE (`sm_90a`, `native`) is built from the sources of its recorded
session. That gives the recorded artifact only by the recorded compiler; by another one this fails
and says which is wanted, since its code was never judged. OUTPUT (.tar.gz) holds the entries of an
artifact cache and artifacts.json with their ids. Unpacked into a cache folder it serves the rules
where there is no such compiler, or none at all (docs/guide/wheel.md).
"""

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


class Refusal(Exception):
    """Why there is no archive, and what to do."""


def is_built_for(table, rule, architecture):
    """By its manifest: a rule for another kind of device is not built at all."""
    manifest = json.loads((table.parent / rule["variant"] / "kernel.json").read_text())
    return manifest["backend"] == ("cuda" if architecture.startswith("sm_") else "cpu")


def proof_of(program, table, rule, cache):
    """What `proof` says of a rule: the artifact is in the cache then."""
    session = table.resolve().parents[1] / rule["session"]
    values = [f"{name}={value}" for name, value in sorted(rule["configuration"].items())]
    words = [program, "proof", rule["variant"], "--session", session, "--cache", cache, "--json"]
    if values:
        words += ["--configuration", *values]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Refusal(f"{rule['variant']} of {rule['session']}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def add(archive, name, data):
    """A file without owner and time, which are nobody's matter."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), 0o644
    archive.addfile(entry, io.BytesIO(data))


def collect(program, table, architecture, cache):
    """Of the rules for the architecture: (files by their names in a cache, artifacts)."""
    rules = [
        (number, rule)
        for number, rule in enumerate(json.loads(table.read_text())["rules"], 1)
        if "session" in rule and is_built_for(table, rule, architecture)
    ]
    # A large kernel takes nvcc a minute.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        proofs = list(pool.map(lambda one: proof_of(program, table, one[1], cache), rules))
    files, listed = {}, []
    for (number, rule), proof in zip(rules, proofs, strict=True):
        if proof["target"] != architecture:
            continue
        if proof["artifact_id"] != rule["artifact_id"]:
            raise Refusal(
                f"rule {number}, {rule['variant']}: its session's last pass is the artifact "
                f"{proof['artifact_id'][:8]}, the rule names {rule['artifact_id'][:8]}"
            )
        folder = Path(proof["library"]).parent
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                files[str(path.relative_to(cache))] = path.read_bytes()
        listed.append(
            {
                "rule": number,
                "artifact_id": proof["artifact_id"],
                "variant": proof["variant"],
                "variant_id": proof["variant_id"],
                "configuration": proof["configuration"],
                "session": rule["session"],
                "sha256": hashlib.sha256(Path(proof["library"]).read_bytes()).hexdigest(),
            }
        )
    return files, listed


def pack(program, table, architecture, output):
    """Writes the archive. Returns the number of artifacts in it. Raises Refusal."""
    with tempfile.TemporaryDirectory() as folder:
        files, listed = collect(program, table, architecture, Path(folder).resolve())
    if not listed:
        raise Refusal(f"no rule of {table} has an artifact for {architecture}")
    about = {"target": architecture, "artifacts": listed}
    with (
        output.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w") as archive,
    ):
        add(archive, "artifacts.json", json.dumps(about, indent=2).encode() + b"\n")
        for name in sorted(files):
            add(archive, name, files[name])
    return len({one["artifact_id"] for one in listed})


def main(program, table, architecture, output):
    try:
        count = pack(Path(program), Path(table), architecture, Path(output))
    except Refusal as refusal:
        sys.exit(f"artifacts.py: {refusal}")
    print(f"{output}: {count} artifacts for {architecture}")


if __name__ == "__main__":
    main(*sys.argv[1:])
