# SPDX-License-Identifier: MIT
"""Tools for agents as JSON schemas, made from the verb table; and arguments read back from them.

A schema is flat and closed: no references, no alternatives, no maps with free keys. Where a verb
takes a map (files, configuration), a tool takes a list of pairs.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from . import errors
from ._loaded import _core

STYLES = ("openai", "anthropic", "mcp")
TOOLSETS = ("core", "full")
CORE = (
    "brief", "history", "note", "kernels", "propose", "propose_many", "iterate", "race", "tune",
    "diagnose", "advise", "get_job", "cancel_job", "read_ref", "record_usage", "close",
)  # fmt: skip
# Arguments of agents that playbooks do not have.
ALSO = ("get_job", "cancel_job", "analyze")
# Shows events as they are, with the shapes of held-out problems; read_ref hides them.
NEVER = ("show",)
# Arguments that an agent need not or must not give, above all paths on the host.
HIDDEN = {
    "report": {"output", "html"},
    "analyze": {"table", "device", "shape", "ours", "reference", "plan", "ncu", "problem", "sass"},
    "diagnose": {"table", "device", "shape", "ours", "reference", "plan", "ncu", "problem", "sass"},
    "best": {"device", "proofs"},
    "iterate": {"files", "name", "parent"},
    "tune": {"ahead"},
    "race": {"ahead"},
    "get_job": {"request_id"},
}
MOST_WAIT_S = 600

STRING = {"type": "string"}
REQUEST_ID = {"type": "string", "description": "repeat-safe: the same id gets the first answer"}
WAIT_S = {
    "type": "number", "minimum": 0, "maximum": MOST_WAIT_S,
    "description": "wait so long for the answer (s); later: get_job",
}  # fmt: skip
PAIRS = {  # kind -> the keys of an item, the second is the value
    "file_map": ("path", "content", STRING),
    "configuration": ("name", "value", {"type": "integer"}),
}


def closed(properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "object", "properties": dict(properties), "required": list(required),
        "additionalProperties": False,
    }  # fmt: skip


def schema_of(kind: str, argument: Mapping[str, Any]) -> dict[str, Any]:
    if kind in PAIRS:
        key, value, form = PAIRS[kind]
        return {"type": "array", "items": closed({key: STRING, value: form}, (key, value))}
    if kind == "edit_list":
        keys = ("path", "search", "replace")
        return {"type": "array", "items": closed(dict.fromkeys(keys, STRING), keys)}
    if kind == "proposal_list":
        fields = {a["name"]: schema_of(a["kind"], a) for a in verbs()["propose"]["arguments"]}
        return {"type": "array", "items": closed(fields, ())}
    if kind == "id_list":
        return {"type": "array", "items": STRING}
    if kind == "enum":
        return {"type": "string", "enum": list(argument["choices"])}
    plain = {"int": "integer", "real": "number", "bool": "boolean"}.get(kind, "string")
    form: dict[str, Any] = {"type": plain}
    if "max" in argument:
        form |= {"minimum": whole(argument["min"]), "maximum": whole(argument["max"])}
    return form


def whole(number: float) -> float:
    return int(number) if number == int(number) else number


@functools.cache
def verbs() -> dict[str, dict[str, Any]]:
    """The verbs that are tools, by name, with the arguments that tools show."""
    shown = {}
    for verb in _core.verb_table():
        if verb["name"] not in NEVER and (verb["in_playbook"] or verb["name"] in ALSO):
            hidden = HIDDEN.get(verb["name"], ())
            arguments = [a for a in verb["arguments"] if a["name"] not in hidden]
            shown[verb["name"]] = verb | {"arguments": arguments}
    return shown


def mutates(name: str) -> bool:
    """Whether a call is recorded in the log, so that a request_id has a meaning."""
    verb = verbs()[name]
    writes = verb["session"] in ("writes", "optional") and not verb["reads_only"]
    return writes or name == "diagnose"  # which measures where it is asked to


def is_long(name: str) -> bool:
    """Whether a call is a job in a separate process."""
    return verbs()[name]["long"]


def described(argument: Mapping[str, Any]) -> dict[str, Any]:
    unit = f" ({argument['unit']})" if "unit" in argument else ""
    return schema_of(argument["kind"], argument) | {"description": argument["doc"] + unit}


def inputs_of(name: str) -> dict[str, Any]:
    """The schema of a tool's arguments, optional ones left out by the caller."""
    verb = verbs()[name]
    properties = {a["name"]: described(a) for a in verb["arguments"]}
    if name == "get_job":
        properties["job"] = {"type": "string", "description": "as answered, or an iteration's: i3"}
        properties["wait_s"]["maximum"] = MOST_WAIT_S
    if mutates(name):
        properties["request_id"] = REQUEST_ID
    if is_long(name):
        properties["wait_s"] = WAIT_S
    return closed(properties, [a["name"] for a in verb["arguments"] if a["required"]])


def nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """All keys required, optional ones nullable: the strict form of OpenAI."""
    if schema["type"] == "array":
        return schema | {"items": nullable(schema["items"])}
    if schema["type"] != "object":
        return schema
    properties = {}
    for key, form in schema["properties"].items():
        form = nullable(form)
        if key not in schema["required"]:
            form = form | {"type": [form["type"], "null"]}
            if "enum" in form:
                form = form | {"enum": [*form["enum"], None]}
        properties[key] = form
    return schema | {"properties": properties, "required": list(properties)}


def annotations_of(name: str) -> dict[str, Any]:
    verb = verbs()[name]
    reads = verb["reads_only"] or (verb["session"] in ("reads", "none") and not is_long(name))
    return {
        "title": name.replace("_", " "),
        "readOnlyHint": reads and not verb["destructive"],
        "destructiveHint": verb["destructive"],
        "idempotentHint": reads,
        "openWorldHint": False,
    }


def tool(name: str, style: str) -> dict[str, Any]:
    about = verbs()[name]["doc"]
    about = about[0].upper() + about[1:] + "."
    if style == "openai":
        function = {
            "name": name, "description": about, "parameters": nullable(inputs_of(name)),
            "strict": True,
        }  # fmt: skip
        return {"type": "function", "function": function}
    if style == "anthropic":
        return {"name": name, "description": about, "input_schema": inputs_of(name)}
    return {
        "name": name, "description": about, "inputSchema": inputs_of(name),
        "annotations": annotations_of(name),
    }  # fmt: skip


def names_of(toolset: str) -> tuple[str, ...]:
    if toolset not in TOOLSETS:
        raise errors.UsageError(f"toolset is {toolset!r}; it must be one of {', '.join(TOOLSETS)}")
    return CORE + (tuple(n for n in verbs() if n not in CORE) if toolset == "full" else ())


def list_tools(style: str = "openai", toolset: str = "core") -> list[dict[str, Any]]:
    """The tools in the form of an API's `style`: "openai", "anthropic" or "mcp"."""
    if style not in STYLES:
        raise errors.UsageError(f"style is {style!r}; it must be one of {', '.join(STYLES)}")
    return [tool(name, style) for name in names_of(toolset)]


def as_map(value: Any, kind: str, where: str) -> Any:
    """A list of pairs as the verb's map; any other value unchanged, for the verb's checks."""
    if not isinstance(value, list):
        return value
    key, item, _ = PAIRS[kind]
    pairs: dict[str, Any] = {}
    for number, pair in enumerate(value, 1):
        if not isinstance(pair, dict) or set(pair) != {key, item}:
            raise errors.UsageError(f"{where}: item {number} must have {key} and {item}")
        if not isinstance(pair[key], str):
            raise errors.UsageError(f"{where}: {key} of item {number} must be a string")
        if pair[key] in pairs:
            raise errors.UsageError(f"{where}: {pair[key][:80]!r} stands twice; give it once")
        pairs[pair[key]] = pair[item]
    return pairs


def verb_arguments(name: str, given: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """A tool's arguments as the verb's. Raises UsageError for unknown ones."""
    kinds = {a["name"]: a["kind"] for a in verbs()[name]["arguments"]}
    made = {}
    for key, value in given.items():
        if key not in kinds:
            raise errors.UsageError(
                f"{name} has no argument {key[:80]!r}{where}; it takes: {', '.join(kinds)}"
            )
        if value is None:
            continue
        if kinds[key] in PAIRS:
            value = as_map(value, kinds[key], key + where)
        if kinds[key] == "proposal_list" and isinstance(value, list):
            value = [
                verb_arguments("propose", item, f" of item {number}")
                if isinstance(item, dict) else item
                for number, item in enumerate(value, 1)
            ]  # fmt: skip
        made[key] = value
    return made


def checked_request(value: Any) -> str | None:
    """An id as the log keeps it. Raises UsageError."""
    if value is None:
        return None
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9._:-]{1,128}", value):
        raise errors.UsageError("request_id must be 1 to 128 letters, digits or ._:- of ASCII")
    return value


def checked_wait(value: Any, default: float) -> float:
    """Seconds to wait. Raises UsageError."""
    if value is None:
        return default
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 <= value <= MOST_WAIT_S:
        raise errors.UsageError(f"wait_s must be a number of seconds from 0 to {MOST_WAIT_S}")
    return float(value)
