"""The events of a session's log, for the scripts of this folder."""

import json


def events_of(session):
    """`session`: its folder, as a Path."""
    return [json.loads(line) for line in (session / "events.jsonl").read_text().splitlines()]
