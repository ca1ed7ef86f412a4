"""A headless Chromium over its debugging pipe (descriptors 3 and 4, JSON between NUL bytes): what a
page logs, asks for and how wide it becomes, with nothing but the standard library."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
PATIENCE_S = 60


class Browser:
    def __init__(self, dark=False):
        self.profile = tempfile.mkdtemp(prefix="sdpa-wb-browser-")
        command_read, self.command_write = os.pipe()
        self.answer_read, answer_write = os.pipe()

        def descriptors():  # beyond 3 and 4 first: one of ours may be one of those
            high = [os.dup2(fd, spare) for fd, spare in ((command_read, 70), (answer_write, 71))]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-dev-shm-usage", "--disable-background-networking", "--disable-extensions",
             "--disable-component-update", "--hide-scrollbars", f"--user-data-dir={self.profile}",
             "--remote-debugging-pipe", "about:blank"],
            preexec_fn=descriptors, close_fds=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(command_read)
        os.close(answer_write)
        self.next_id, self.pending, self.events = 0, b"", []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.call(
            "Target.attachToTarget", targetId=page["targetId"], flatten=True
        )["sessionId"]  # fmt: skip
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.command_write)
        os.close(self.answer_read)
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def message(self, until):
        while b"\0" not in self.pending:
            ready, _, _ = select.select([self.answer_read], [], [], max(until - time.time(), 0))
            assert ready, "the browser does not answer"
            read = os.read(self.answer_read, 1 << 20)
            assert read, "the browser is gone"
            self.pending += read
        first, _, self.pending = self.pending.partition(b"\0")
        return json.loads(first)

    def call(self, method, **parameters):
        self.next_id += 1
        request = {"id": self.next_id, "method": method, "params": parameters}
        if hasattr(self, "session"):
            request["sessionId"] = self.session
        os.write(self.command_write, json.dumps(request).encode() + b"\0")
        until = time.time() + PATIENCE_S
        while True:
            answer = self.message(until)
            if answer.get("id") == self.next_id:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self.events.append(answer)

    def open(self, path, width=1200, height=900):
        """Loads a file and waits until all of it is there."""
        self.events.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        address = Path(path).resolve().as_uri()
        failure = self.call("Page.navigate", url=address).get("errorText")
        assert failure is None, failure
        until = time.time() + PATIENCE_S
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message(until))
        return address

    def value(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def requests(self):
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]

    def complaints(self):
        """Errors of scripts, of the content security policy and of loading."""
        kinds = ("Runtime.exceptionThrown", "Log.entryAdded", "Network.loadingFailed")
        return [
            event["params"]
            for event in self.events
            if event.get("method") in kinds
            and event["params"].get("entry", {}).get("level") not in ("info", "verbose")
        ]

    def screenshot(self, file):
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        Path(file).write_bytes(base64.b64decode(shot["data"]))
