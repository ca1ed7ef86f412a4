# SPDX-License-Identifier: MIT
"""A chat with tools over HTTP, for agent_session.py: Anthropic's Messages API or OpenAI's Chat
Completions API, or whatever speaks one of the two. Standard library only.

A chat holds its messages in its endpoint's own form; what comes out of it is neutral.
"""

import json
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

TRY_AGAIN = {408, 409, 429, 500, 502, 503, 504, 529}
TRIES = 5
LONGEST_WAIT_S = 60.0
MOST_ANSWER_BYTES = 16 << 20


class EndpointError(Exception):
    """The endpoint cannot be used: what it was asked, and why that failed."""


@dataclass(frozen=True)
class Usage:
    """Tokens of one answer; `input` has the cached ones in it."""

    input: int
    output: int
    cached: int = 0


@dataclass(frozen=True)
class ToolCall:
    """`arguments`: a dict, or the text that the model wrote where it is no JSON object."""

    id: str
    name: str
    arguments: object


@dataclass(frozen=True)
class Reply:
    text: str
    calls: list
    usage: Usage
    was_cut: bool  # the endpoint ended it at its limit of tokens


def wait_before(fault, tried):
    """Seconds until the next try: what the endpoint asks for, else 1, 2, 4 and so on."""
    asked = fault.headers.get("Retry-After") if isinstance(fault, urllib.error.HTTPError) else None
    if asked:
        try:
            return min(max(float(asked), 0.0), LONGEST_WAIT_S)
        except ValueError:
            try:
                return min(max(parsedate_to_datetime(asked).timestamp() - time.time(), 0.0),
                           LONGEST_WAIT_S)  # fmt: skip
            except (TypeError, ValueError):
                pass
    return min(2.0**tried, LONGEST_WAIT_S)


def post(url, headers, body, timeout_s=600.0, sleep=time.sleep):
    """The JSON object that a POST answers. Raises EndpointError, after TRIES where trying again
    can help."""
    data = json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **headers}
    for tried in range(TRIES):
        request = urllib.request.Request(url, data=data, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as answer:
                text = answer.read(MOST_ANSWER_BYTES)
            break
        except urllib.error.HTTPError as fault:
            words = fault.read(2000).decode("utf-8", "replace")
            if fault.code not in TRY_AGAIN or tried == TRIES - 1:
                raise EndpointError(f"{url} answered {fault.code}: {words}") from None
            sleep(wait_before(fault, tried))
        except (OSError, urllib.error.URLError) as fault:
            if tried == TRIES - 1:
                raise EndpointError(f"cannot reach {url}: {fault}") from None
            sleep(wait_before(fault, tried))
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise EndpointError(f"{url} answered no JSON object, but {text[:200]!r}")
    return answer


class AnthropicChat:
    """POST URL/v1/messages."""

    style = "anthropic"
    default_url = "https://api.anthropic.com"
    key_variable = "ANTHROPIC_API_KEY"

    def __init__(self, url, key, model, system, tools, max_tokens):
        self.url = url.rstrip("/") + "/v1/messages"
        self.headers = {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {})
        self.body = {"model": model, "max_tokens": max_tokens, "system": system, "tools": tools}
        self.messages = []

    def say(self, text):
        self.messages.append({"role": "user", "content": text})

    def answer_calls(self, answers):
        """answers: (call, text, is_error) of every call of the last reply."""
        blocks = [
            {"type": "tool_result", "tool_use_id": call.id, "content": text, "is_error": is_error}
            for call, text, is_error in answers
        ]
        self.messages.append({"role": "user", "content": blocks})

    def ask(self):
        answer = post(self.url, self.headers, self.body | {"messages": self.messages})
        try:
            content, used = answer["content"], answer["usage"]
            self.messages.append({"role": "assistant", "content": content})
            cached = used.get("cache_read_input_tokens") or 0
            read = used["input_tokens"] + cached + (used.get("cache_creation_input_tokens") or 0)
            return Reply(
                "".join(block["text"] for block in content if block["type"] == "text"),
                [ToolCall(block["id"], block["name"], block["input"])
                 for block in content if block["type"] == "tool_use"],
                Usage(read, used["output_tokens"], cached),
                answer.get("stop_reason") == "max_tokens",
            )  # fmt: skip
        except (KeyError, TypeError, AttributeError) as fault:
            raise EndpointError(f"{self.url} answered in another form: {fault!r}") from None


class OpenAIChat:
    """POST URL/chat/completions."""

    style = "openai"
    default_url = "https://api.openai.com/v1"
    key_variable = "OPENAI_API_KEY"

    def __init__(self, url, key, model, system, tools, max_tokens):
        self.url = url.rstrip("/") + "/chat/completions"
        self.headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.body = {"model": model, "max_completion_tokens": max_tokens, "tools": tools}
        self.messages = [{"role": "system", "content": system}]

    def say(self, text):
        self.messages.append({"role": "user", "content": text})

    def answer_calls(self, answers):
        """As AnthropicChat's; that a call failed stands in its text."""
        for call, text, _ in answers:
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": text})

    def ask(self):
        answer = post(self.url, self.headers, self.body | {"messages": self.messages})
        try:
            choice, used = answer["choices"][0], answer["usage"]
            message = choice["message"]
            self.messages.append(message)
            calls = [
                ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
                for call in message.get("tool_calls") or []
            ]
            cached = (used.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
            return Reply(
                message.get("content") or "",
                calls,
                Usage(used["prompt_tokens"], used["completion_tokens"], cached),
                choice.get("finish_reason") == "length",
            )
        except (KeyError, IndexError, TypeError, AttributeError) as fault:
            raise EndpointError(f"{self.url} answered in another form: {fault!r}") from None


CHATS = {chat.style: chat for chat in (AnthropicChat, OpenAIChat)}
