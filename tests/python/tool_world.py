# SPDX-License-Identifier: MIT
"""What the tests of the agent tools share: how an answer is checked, and a change that is good."""

import json

# A change that compiles and keeps what is computed.
GOOD_EDIT = {
    "path": "kernel.cpp",
    "search": "namespace unfused {",
    "replace": "namespace unfused { ",
}


def good(answer):
    """The result of a call that worked."""
    assert set(answer) == {"is_error", "result"}, answer
    assert answer["is_error"] is False
    return answer["result"]


def bad(answer):
    """The code of a call that did not, which says why in bounded words."""
    assert answer["is_error"] is True, answer
    assert {"code", "message", "fixable"} <= set(answer)
    assert answer["message"]
    assert len(json.dumps(answer)) < 5000
    return answer["code"]


def verbs_called(events, verb):
    return [e["payload"] for e in events if e["type"] == "verb_called" and
            e["payload"]["verb"] == verb]  # fmt: skip
