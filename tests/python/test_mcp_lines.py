# SPDX-License-Identifier: MIT
"""Lines that a client of the MCP server may write: every one that has an id is answered, whatever
is wrong with it, and the next one is served."""

import contextlib
import json
import os
import queue
import select
import subprocess
import sys
import threading

import pytest
from support.commands import ROOT, importing
from support.logs import events
from test_mcp_server import processes_of, wait_until

pytest.importorskip("mcp", reason="the package mcp is not installed")

PATIENCE_S = 60  # against hangs only
PARSE, NO_REQUEST, NO_METHOD, BAD_PARAMS = -32700, -32600, -32601, -32602
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {},
         "clientInfo": {"name": "t", "version": "1"}}  # fmt: skip


class Client:
    """Writes lines as they are, and keeps what comes back by its id."""

    def __init__(self, words, folder, env):
        self.process = subprocess.Popen(
            words, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )  # fmt: skip
        self.answers = queue.Queue()
        self.asked = 1000
        self.leaves = threading.Event()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def _read(self):
        rest = b""
        while not self.leaves.is_set():
            if not select.select([self.process.stdout], [], [], 0.05)[0]:
                continue
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self.answers.put(json.loads(line))  # what is no JSON ends the thread, and the test
            if not data:
                self.answers.put(None)
                return
        self.process.stdout.close()

    def leave(self):
        """Nobody reads answers any more."""
        self.leaves.set()
        self.reader.join()

    def write(self, line):
        line = line.encode() if isinstance(line, str) else line
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def until(self, wanted):
        """The answers up to the one with that id."""
        seen = []
        while True:
            answer = self.answers.get(timeout=PATIENCE_S)
            assert answer is not None, "the server ended"
            if "id" in answer:
                seen.append(answer)
                if answer["id"] == wanted:
                    return seen

    def before_a_ping(self, *lines):
        """What was answered to the lines; a ping behind them is."""
        for line in lines:
            self.write(line)
        self.asked += 1
        self.write(json.dumps({"jsonrpc": "2.0", "id": self.asked, "method": "ping"}))
        *seen, ping = self.until(self.asked)
        assert ping["result"] == {}
        return seen

    def ask(self, method, params=None, id=None):
        self.asked += 1
        id = self.asked if id is None else id
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        self.write(json.dumps(message | ({} if params is None else {"params": params})))
        return self.until(id)[-1]

    def end(self):
        self.process.stdin.close()
        return self.process.wait(PATIENCE_S)


@pytest.fixture
def start(package, wb, cache):
    wb.open_small()
    clients = []

    def client(*more):
        words = [sys.executable, "-m", "sdpa_workbench.mcp_server", "--session", "s",
                 "--path", str(ROOT), "--cache", str(cache), *map(str, more)]  # fmt: skip
        clients.append(Client(words, wb.folder, os.environ | importing(package)))
        return clients[-1]

    yield client
    for one in clients:
        with contextlib.suppress(OSError):
            one.process.kill()
        one.process.wait()


@pytest.fixture
def client(start):
    one = start()
    assert "result" in one.ask("initialize", HELLO)
    one.write('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    return one


def request(id, method='"ping"', more=""):
    return f'{{"jsonrpc":"2.0","id":{id},"method":{method}{more}}}'


NOTE = ',"params":{"name":"note","arguments":{"text":"%s"}}'
ANSWERED = {  # what is no request but has an id: the line, its id, the code
    "a method that is a number": (request(13, "5"), 13, NO_REQUEST),
    "no method": ('{"jsonrpc":"2.0","id":14}', 14, NO_REQUEST),
    "params that are a list": (request(15, '"tools/call"', ',"params":["note"]'), 15, NO_REQUEST),
    "params that are a text": (request(16, '"tools/call"', ',"params":"note"'), 16, NO_REQUEST),
    "a wrong version": ('{"jsonrpc":"1.0","id":9,"method":"ping"}', 9, NO_REQUEST),
    "no version": ('{"id":"x","method":"ping"}', "x", NO_REQUEST),
    "an id with a fraction": (request(1.5), 1.5, NO_REQUEST),
    "an id that is null": (request("null"), None, NO_REQUEST),
    "an id that is true": (request("true"), True, NO_REQUEST),
    "an id that is a list": (request("[1]"), [1], NO_REQUEST),
    "half a letter": (request(17, '"tools/call"', NOTE % "cut: \\ud83d"), 17, BAD_PARAMS),
    "the other half": (request(18, '"tools/call"', NOTE % "\\ude00 cut"), 18, BAD_PARAMS),
    "half a letter in a key": (request(19, '"ping"', ',"params":{"\\ud83d":1}'), 19, BAD_PARAMS),
    "half a letter in the method": (request(20, '"\\ud83d"'), 20, BAD_PARAMS),
    "half a letter in the id": (request('"\\ud83d"'), None, BAD_PARAMS),
    "half an object": ('{"jsonrpc":"2.0","id":8,"method":', 8, PARSE),
    "too deep": (request(21, '"x"', ',"params":' + "[" * 5000 + "]" * 5000), 21, None),
    "an id with leading zeros": (request("007"), None, PARSE),
    "an id that is a sign": (request("-"), None, PARSE),
    "a control character in the id": (request('"\t"'), None, PARSE),
    "an id of too many digits": (request("9" * 5000), None, PARSE),
    "an id that nests too deeply": (request("[" * 400 + "]" * 400), None, NO_REQUEST),
    "a text that does not end": ('{"jsonrpc":"2.0","id":"y","method":"ping', "y", PARSE),
}


def test_every_line_with_an_id_is_answered(client):
    for name, (line, id, code) in ANSWERED.items():
        (answer,) = client.before_a_ping(line)
        assert answer["id"] == id, name
        assert type(answer["id"]) is type(id), name
        assert code is None or answer["error"]["code"] == code, (name, answer)
        assert answer["error"]["message"], name
    assert "surrogate" in client.before_a_ping(ANSWERED["half a letter"][0])[0]["error"]["message"]
    assert client.end() == 0


def test_a_batch_is_answered_one_by_one(client):
    batch = f"[{request(11)},{request(12)},17,{{}}]"
    seen = client.before_a_ping(batch)
    assert [answer["id"] for answer in seen] == [11, 12]
    assert all("batches" in answer["error"]["message"] for answer in seen)
    assert client.before_a_ping("[]") == []


def test_what_has_no_id_is_passed_over_or_answered_without_one(client):
    quiet = [
        "", "   \r", "17", "null", "{}", '"text"',
        '{"jsonrpc":"2.0","id":999,"result":{}}',
        '{"jsonrpc":"2.0","id":999,"error":{"code":1,"message":"no"}}',
        '{"jsonrpc":"2.0","method":"notifications/foo","params":{}}',
        '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4242}}',
    ]  # fmt: skip
    for line in quiet:
        assert client.before_a_ping(line) == [], line
    for line in ("no JSON", b"\xff\xfe\xfa", '{"jsonrpc":'):
        (answer,) = client.before_a_ping(line)
        assert answer["id"] is None
        assert answer["error"]["code"] == PARSE


def test_requests_that_only_look_odd_are_served(client, wb):
    assert "result" in client.before_a_ping("\ufeff" + request(31))[0]
    assert "result" in client.before_a_ping(request(32) + "\r")[0]
    assert "result" in client.before_a_ping(request(33).replace(",", ",\r"))[0]
    for id in ("a string", 0, "", -1, 2**53 + 1, 10**30):
        answer = client.ask("ping", id=id)
        assert answer["id"] == id
        assert type(answer["id"]) is type(id)
    whole = client.ask("tools/call", {"name": "note", "arguments": {"text": "whole: \U0001f600"}})
    assert not whole["result"]["isError"]
    assert [e["payload"]["text"] for e in events(wb.folder / "s") if e["type"] == "note"] == [
        "whole: \U0001f600"
    ]
    unknown = client.ask("no/such/method", {})
    assert unknown["error"]["code"] == NO_METHOD
    for params in ({"name": 5}, {"arguments": {}}, {}, {"name": "note", "arguments": [1]}):
        assert "error" in client.ask("tools/call", params), params


def test_requests_before_the_greeting_are_answered(start):
    client = start()
    assert client.ask("tools/list", {})["id"]
    assert "result" in client.ask("initialize", HELLO)


def test_what_was_asked_before_the_end_of_input_is_answered(start):
    client = start()
    client.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}))
    client.write('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    client.process.stdin.write(request(2, '"tools/list"').encode())  # no line end either
    client.process.stdin.flush()
    assert client.end() == 0
    ids = []
    while (answer := client.answers.get(timeout=PATIENCE_S)) is not None:
        ids.append(answer.get("id"))
    assert ids == [1, 2]


ITERATE = (',"params":{"name":"iterate","arguments":{"variant":"cpu_tiled","hypothesis":"h",'
           '"predicted_speedup":1.2,"wait_s":240}}')  # fmt: skip


@pytest.fixture
def held_call(start, wb):
    """A client whose second request is under way for as long as a test wants."""
    held = wb.turns.hold("turn")
    client = start("--worker", wb.turns.program())
    client.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}))
    client.write('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    client.until(1)
    client.write(request(2, '"tools/call"', ITERATE))
    held.wait()
    yield held, client
    held.release()
    wait_until(lambda: processes_of(wb.folder) == [])  # the job goes on without its server


def test_a_call_that_is_under_way_at_the_end_of_input_is_answered(held_call):
    held, client = held_call
    client.process.stdin.close()
    held.release()
    answer = client.until(2)[-1]
    assert answer["result"]["isError"] is False
    assert client.process.wait(PATIENCE_S) == 0


def test_a_call_that_was_taken_back_is_not_waited_for(held_call):
    _, client = held_call
    taken = {"method": "notifications/cancelled", "params": {"requestId": 2}}
    client.write(json.dumps({"jsonrpc": "2.0"} | taken))
    assert client.end() == 0


def test_a_client_that_has_left_is_not_waited_for(held_call):
    _, client = held_call
    client.leave()
    assert client.end() == 0


STREAMS = {
    "no input": ("<&-", 0, ""),
    "no output": (">&-", os.EX_IOERR, "standard output is closed"),
    "a full output": (">/dev/full", os.EX_IOERR, "No space left on device"),
}


def test_whole_floats_are_integers_for_the_server_too(package, start):
    client = start("--max-bytes", "4096.0", "--threads", "2.0")
    assert client.ask("ping")["result"] == {}
    assert client.end() == 0
    for words in (["--threads", "2.5"], ["--max-bytes", "4_096"], ["--gpu", "٣"]):
        assert start(*words).process.wait(PATIENCE_S) == 2, words


@pytest.mark.parametrize(
    "words",
    ["--worker /nowhere", "--cache /dev/null", "--cpu-set x", "--isolation x", "--gpu -1",
     "--threads 5000", "--path /nowhere", "--compiler /nowhere/cc"],
)  # fmt: skip
def test_wrong_options_end_the_server_at_its_start(package, start, words):
    assert start(*words.split()).process.wait(PATIENCE_S) == 2


def by_command(wb, env=None, **streams):
    """`sdpa-wb mcp` on a session, which looks for a Python that can serve."""
    wb.open_small()
    folder = {"VIRTUAL_ENV": sys.prefix} if sys.prefix != sys.base_prefix else {}
    return subprocess.run(
        [wb.program, "mcp", "--session", "s", *([] if folder else ["--python", sys.executable])],
        cwd=wb.folder, env=os.environ | folder | (env or {}), capture_output=True, text=True,
        timeout=PATIENCE_S, **streams,
    )  # fmt: skip


def test_a_wish_for_a_prompt_takes_no_request(package, wb):
    done = by_command(wb, {"PYTHONINSPECT": "1"}, input=request(1) + "\n")
    assert done.returncode == 0, done
    assert json.loads(done.stdout)["id"] == 1


def test_an_interpreter_that_does_not_come_up_says_why(package, wb):
    done = by_command(wb, {"PYTHONHOME": "/nowhere"}, input="")
    assert done.returncode == 2, done
    assert "Fatal Python error" in done.stderr
    assert 'the variable PYTHONHOME is "/nowhere"' in done.stderr


def test_a_folder_is_no_input(package, wb):
    folder = os.open(wb.folder, os.O_RDONLY)
    done = by_command(wb, stdin=folder)
    os.close(folder)
    assert done.returncode == 2, done
    assert done.stderr == "sdpa-wb mcp: cannot read requests: standard input is a folder\n"


@pytest.mark.parametrize("kind", STREAMS)
def test_standard_streams_that_cannot_serve(package, wb, kind):
    redirection, code, words = STREAMS[kind]
    wb.open_small()
    server = f"{sys.executable} -m sdpa_workbench.mcp_server --session s {redirection}"
    done = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' '{request(1)}' | {server}"], cwd=wb.folder, text=True,
        env=os.environ | importing(package), capture_output=True, timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == code, done
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == (1 if words else 0)
