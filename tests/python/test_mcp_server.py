# SPDX-License-Identifier: MIT
"""The MCP server, driven by the official client over stdio as an agent's program would: a whole
session, a connection lost during a tune, and a server that is killed."""

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.commands import ROOT, SMALL, importing
from support.logs import events
from tool_world import GOOD_EDIT, verbs_called

mcp = pytest.importorskip("mcp", reason="the package mcp is not installed")

BROKEN = {"path": "kernel.cpp", "search": "namespace unfused {",
          "replace": "namespace unfused { such"}  # fmt: skip
TUNE = {"variant": "cpu_tiled", "hypothesis": "smaller tiles fit", "predicted_speedup": 1.2,
        "strategy": "exhaustive", "request_id": "the-tune"}  # fmt: skip
# Prints beside the protocol, as a library of C does, whenever a tool is called.
NOISY = """
import ctypes, sys
from sdpa_workbench import mcp_server, tools
call = tools.Toolbox.call
def noisy(self, *given):
    libc = ctypes.CDLL(None)
    libc.puts(b"words of a library"); libc.fflush(None)
    print("words of Python", flush=True)
    return call(self, *given)
tools.Toolbox.call = noisy
sys.exit(mcp_server.main(sys.argv[1:]))
"""


@pytest.fixture
def server(package, wb, cache):
    """The start of a server on a small session."""
    wb.open_small()
    served = set()

    def parameters(*before, session="s"):
        served.add(session)
        words = [*(before or ("-m", "sdpa_workbench.mcp_server")), "--session", session]
        words += ["--path", str(ROOT), "--cache", str(cache), "--toolset", "full"]
        words += ["--worker", str(wb.turns.program())]
        # The client passes on little of its environment: not the device lock of the tests.
        env = importing(package) | {"WB_DEVICE_LOCK": os.environ["WB_DEVICE_LOCK"]}
        return mcp.StdioServerParameters(command=sys.executable, args=words, env=env, cwd=wb.folder)

    yield parameters
    for session in served:
        wb.run("cancel", "job", "--session", session)


def run(work):
    """Its result; a failure or a skip as itself, out of the groups that task groups make."""
    try:
        return asyncio.run(work)
    except BaseExceptionGroup as group:
        fault = group
        while isinstance(fault, BaseExceptionGroup):
            fault = fault.exceptions[0]
        raise fault from group


async def called(client, name, is_error=False, progress_callback=None, **arguments):
    """What a tool answers, as an agent reads it."""
    answer = await client.call_tool(name, arguments, progress_callback=progress_callback)
    told = json.loads(answer.content[0].text)
    assert answer.is_error is is_error, told
    return told


async def text_of(client, uri):
    found = await client.read_resource("sdpa-workbench://" + uri)
    return found.contents[0].text


def wait_until(condition, patience_s=60):
    until = time.monotonic() + patience_s
    while time.monotonic() < until:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("it never came true")


def processes_of(folder):
    """Command lines of processes that work in `folder`."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/cwd").startswith(str(folder)) and int(pid) != os.getpid():
                found.append((int(pid), Path(f"/proc/{pid}/cmdline").read_text().split("\0")))
    return found


async def proposed_as_mine(client, kernel):
    """What `propose` answers to a kernel's own files, its parameters too, under another name."""
    code, manifest = [
        await text_of(client, f"kernels/{kernel}/{file}") for file in ("kernel.cpp", "kernel.json")
    ]
    named = json.dumps(json.loads(manifest) | {"name": "mine"})
    files = [{"path": "kernel.cpp", "content": code}, {"path": "kernel.json", "content": named}]
    return await called(client, "propose", files=files, wait_s=120)


def test_a_whole_session(server, wb):
    """As an agent has it: a proposal that does not compile, one that is wrong, one that is faster;
    that one tuned, the connection lost meanwhile, and on another one the end and the report.
    Some ten seconds: five builds, as many verdicts, and two servers."""
    opened = ["open", "--start", "cpu_unfused", "--rivals", "none", "--effort", "quick"]
    wb.run(*opened, "--problem", SMALL, "--session", "larger", check=0)
    wb.turns.take(mine=20)
    folder = wb.folder / "larger"
    seen, held = [], []
    tune = {}

    async def told(progress, total, message):
        seen.append((progress, message))

    async def first():
        async with mcp.Client(server(session="larger")) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert {"brief", "propose", "tune", "get_job", "close"} <= names
            assert {p.name for p in (await client.list_prompts()).prompts} == {"optimize", "review"}
            words = await client.get_prompt("optimize", {"goal": "twice as fast"})
            assert "twice as fast" in words.messages[0].content.text
            broken = await called(client, "propose", edits=[BROKEN], wait_s=120)
            assert (broken["pass"], broken["outcome"]) == (False, "compile")
            assert "error" in broken["untrusted_compiler_output"]
            brief = json.loads(await text_of(client, "session/brief"))
            assert brief["session"] == "larger"
            assert brief["incumbent"]["variant"].startswith("cpu_unfused@")
            source = await text_of(client, "kernels/cpu_unfused/kernel.cpp")
            assert GOOD_EDIT["search"] in source
            wrong = source.replace("float>(p.scale)", "float>(2 * p.scale)")
            assert wrong != source
            wrong = await called(
                client, "propose", files=[{"path": "kernel.cpp", "content": wrong}], wait_s=120
            )
            assert (wrong["pass"], wrong["outcome"]) == (False, "correctness")
            proposed = await proposed_as_mine(client, "cpu_tiled")
            assert (proposed["pass"], proposed["outcome"]) == (True, "pass")
            faster = await called(
                client, "iterate", variant=proposed["variant"], predicted_speedup=4,
                hypothesis="tiles reuse what they loaded", wait_s=200, progress_callback=told,
            )  # fmt: skip
            assert (faster["outcome"], faster["incumbent"]) == ("win", proposed["variant"])
            assert faster["interval"]["low"] > 1
            tune.update(TUNE | {"variant": proposed["variant"], "evaluations": 2})
            held.append(wb.turns.hold("turn", 4))
            running = await called(client, "tune", **tune, wait_s=0)
            assert (running["done"], running["job"]) == (False, "the-tune")
            held[0].wait()

    async def again():
        async with mcp.Client(server(session="larger")) as client:
            held[0].release()
            done = await called(client, "get_job", job="the-tune", wait_s=300)
            assert done["outcome"] == "no_gain"
            assert await called(client, "tune", **tune, wait_s=10) == done
            shown = (await text_of(client, "session/log")).splitlines()
            whole = [json.loads(line)["untrusted_event"] for line in shown]
            assert whole == events(folder)[-200:]
            assert whole[-1]["type"] == "verb_answered"
            await called(client, "close", recommendation="take the tiles")
            return await text_of(client, "session/report")

    run(first())
    report = run(again())
    assert report.endswith((folder / "reports" / "session.md").read_text())
    assert "take the tiles" in report
    numbers = [progress for progress, _ in seen]
    assert numbers
    assert numbers == sorted(set(numbers))
    written = events(folder)
    kinds = [event["type"] for event in written]
    # What the log grew by when it was looked at: which events those were is a matter of time.
    assert all(any(kind in message for kind in kinds) for _, message in seen)
    assert kinds[-1] == "session_closed"
    assert len(verbs_called(written, "tune")) == 1
    tried = [e["payload"]["configuration"] for e in written if e["type"] == "evaluation"]
    assert len(tried) == 2
    assert all(set(configuration) == {"TILE_M", "TILE_N"} for configuration in tried)
    wait_until(lambda: processes_of(wb.folder) == [])


def test_a_killed_server_leaves_its_job_to_the_next(server, wb):
    held = wb.turns.hold("turn")

    async def begin():
        with contextlib.suppress(Exception):  # its end is what the test is about
            async with mcp.Client(server()) as client:
                await called(client, "tune", **TUNE, wait_s=0)
                ours = [p for p, words in processes_of(wb.folder)
                        if "sdpa_workbench.mcp_server" in words]  # fmt: skip
                os.kill(ours[0], signal.SIGKILL)
                killed.append(ours[0])

    async def find():
        async with mcp.Client(server()) as client:
            facts = await called(client, "get_job")
            assert (facts["state"], facts["done"]) == ("running", False)
            held.release()  # a worker that answers ends at once
            assert (await called(client, "cancel_job"))["ended"] is True
            await called(client, "note", text="it can go on")

    killed = []
    run(begin())
    assert len(killed) == 1
    held.wait()  # the job goes on alone
    run(find())
    wait_until(lambda: processes_of(wb.folder) == [])


def test_nothing_but_protocol_on_standard_output(server, wb):
    given = server("-c", NOISY)
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
         "params": {"name": "brief", "arguments": {}}},
    ]  # fmt: skip
    process = subprocess.Popen(
        [given.command, *given.args], cwd=wb.folder, env=os.environ | given.env, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdin.write("".join(json.dumps(line) + "\n" for line in lines))
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for _ in range(2)]
    rest, noise = process.communicate(timeout=60)  # closes its input: it ends
    assert [answer["id"] for answer in answers] == [1, 2]
    assert "error" not in answers[1]
    assert rest == ""
    assert "words of a library" in noise
    assert "words of Python" in noise
    assert process.returncode == 0


def test_bad_input_is_an_answer(server):
    async def drive():
        async with mcp.Client(server()) as client:
            told = await called(client, "no_such_tool", is_error=True)
            assert (told["code"], told["fixable"]) == ("usage", True)
            told = await called(client, "get_job", is_error=True, wait_s=-1)
            assert told["code"] == "usage"
            for uri in ("kernels/../../etc/passwd", "docs/../README", "events/e999999", "nothing"):
                with pytest.raises(mcp.MCPError, match=r"not_found|usage"):
                    await text_of(client, uri)
            assert not (await client.call_tool("brief")).is_error  # it goes on
        async with mcp.Client(server(session="nowhere")) as client:
            told = await called(client, "brief", is_error=True)
            assert told["code"] == "not_found"

    run(drive())


def test_the_command_starts_it_or_says_what_to_install(server, wb, build, tmp_path):
    given = server()
    words = given.args[given.args.index("--session") :]

    async def drive():
        found = mcp.StdioServerParameters(
            command=str(build / "sdpa-wb"), args=["mcp", "--python", sys.executable, *words],
            cwd=wb.folder,
        )  # fmt: skip
        async with mcp.Client(found) as client:
            assert (await called(client, "brief"))["session"] == "s"

    run(drive())
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    done = wb.run("mcp", "--python", bare / "bin" / "python3", check=2)
    # Beside a build folder it finds the package, beside an installation not even that.
    assert re.search("no module (mcp|named 'sdpa_workbench')", done.stderr, re.I)
    assert "pip install" in done.stderr
    assert done.stdout == ""
