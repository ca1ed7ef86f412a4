# SPDX-License-Identifier: MIT
"""What the tests of the agent tools share: how an answer is checked, a change that is good, and a
stand-in for a model's endpoint. It is no model: it replays the choices of a script, in the form of
Anthropic's Messages API or of OpenAI's Chat Completions API."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

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


# A stand-in for a model's endpoint: no model, it replays the choices of a script, in the form of
# Anthropic's Messages API or of OpenAI's Chat Completions API.

USED = {"input": 900, "output": 100, "cached": 400}  # tokens of every answer, input with cached


def anthropic(text, calls):
    content = [{"type": "text", "text": text}] if text else []
    content += [{"type": "tool_use", "id": i, "name": n, "input": a} for i, n, a in calls]
    return {
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn",
        "usage": {
            "input_tokens": USED["input"] - USED["cached"],
            "cache_read_input_tokens": USED["cached"],
            "output_tokens": USED["output"],
        },
    }


def openai(text, calls):
    message = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
            for i, n, a in calls
        ]
    return {
        "choices": [{"message": message, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": {
            "prompt_tokens": USED["input"],
            "completion_tokens": USED["output"],
            "prompt_tokens_details": {"cached_tokens": USED["cached"]},
        },
    }


def results_of(body):
    """Answers to the calls of the last reply, as the API's messages carry them, parsed."""
    messages = body["messages"]
    if messages[-1]["role"] == "user" and isinstance(messages[-1]["content"], list):
        return [json.loads(block["content"]) for block in messages[-1]["content"]]
    last = []
    while messages and messages[-1]["role"] == "tool":
        last.insert(0, json.loads(messages[-1]["content"]))
        messages = messages[:-1]
    return last


class Endpoint:
    """Steps of `script` are a status code to refuse with, bytes to answer, or a function of the
    answers to the last calls that returns text and a list of (name, arguments)."""

    def __init__(self, script):
        self.script, self.bodies, self.headers, self.paths = list(script), [], [], []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):  # the name that http.server asks for
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.bodies.append(body)
                endpoint.headers.append(dict(self.headers))
                endpoint.paths.append(self.path)
                step = endpoint.script.pop(0) if endpoint.script else 400
                status, data = endpoint.answer(step, body, self.path)
                self.send_response(status)
                self.send_header("Retry-After", "0")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def answer(self, step, body, path):
        if isinstance(step, int):
            return step, b'{"error": "scripted"}'
        if isinstance(step, bytes):
            return 200, step
        text, calls = step(results_of(body))
        named = [(f"call_{len(self.bodies)}_{n}", *call) for n, call in enumerate(calls)]
        form = anthropic if path.endswith("/v1/messages") else openai
        return 200, json.dumps(form(text, named)).encode()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
