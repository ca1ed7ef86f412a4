"""The events of a session's log, for the scripts of this folder."""

import gzip
import json


def events_of(session):
    """`session`: its folder, as a Path; kept ones are packed."""
    plain = session / "events.jsonl"
    text = (
        plain.read_text()
        if plain.exists()
        else gzip.decompress((session / "events.jsonl.gz").read_bytes()).decode()
    )
    return [json.loads(line) for line in text.splitlines()]
