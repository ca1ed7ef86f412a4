"""The events of a session's log, for the scripts of this folder."""

import gzip
import json
import tarfile


def log_of(session):
    """The bytes of the log: `session` is the Path of a folder, whose log may be packed for itself,
    or of an archive."""
    if session.is_file():
        with tarfile.open(session) as tar:
            (log,) = (m for m in tar.getmembers() if m.name.partition("/")[2] == "events.jsonl")
            return tar.extractfile(log).read()
    plain = session / "events.jsonl"
    if plain.exists():
        return plain.read_bytes()
    return gzip.decompress((session / "events.jsonl.gz").read_bytes())


def events_of(session):
    return [json.loads(line) for line in log_of(session).splitlines()]
